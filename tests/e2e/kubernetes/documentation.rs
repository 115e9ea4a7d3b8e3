//! The commands in the READMEs of `deploy/kubernetes/` and of the chart work as they are written.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::objects::parse;
use super::rules::Rules;
use super::tools::{got, helm, kustomize};
use crate::harness::repository;
use crate::harness::run;
use crate::servers::program;

const KUSTOMIZE: &str = "deploy/kubernetes/README.md";
const CHART: &str = "deploy/helm/lease-exporter/README.md";

/// The fenced blocks of a language, without what they are indented by.
fn blocks(readme: &str, language: &str) -> Vec<String> {
    let text = fs::read_to_string(repository(readme)).unwrap();
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        if line.trim_start() == format!("```{language}") {
            let block = lines.by_ref().take_while(|line| line.trim_start() != "```");
            blocks.push(block.map(|line| line.get(indent..).unwrap_or_default().to_owned() + "\n").collect());
        }
    }
    blocks
}

fn commands(readme: &str) -> Vec<String> {
    let shown = blocks(readme, "console").concat();
    shown.lines().filter_map(|line| Some(line.strip_prefix("$ ")?.to_owned())).collect()
}

/// Runs a line of shell in the repository, with the tools that `make tools` got.
fn shell(line: &str) -> String {
    let tools = got("kubectl").parent().unwrap().to_owned();
    let output = Command::new("bash")
        .args(["-euc", line])
        .current_dir(repository(""))
        .env("PATH", format!("{}:/usr/bin:/bin", tools.display()))
        .env("KUBECONFIG", "/nonexistent")
        .envs(["PASSWORD", "SCHEDULER_PASSWORD", "JOBS_PASSWORD", "BEATS_PASSWORD"].map(|name| (name, "planted")))
        .output()
        .unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_command_that_needs_no_cluster_runs() {
    let told = [commands(KUSTOMIZE), commands(CHART)].concat();
    assert!(told.len() >= 8, "{told:?}");
    let folder = tempfile::tempdir().unwrap();
    let values = folder.path().join("my-values.yaml");
    fs::write(&values, &blocks(CHART, "yaml")[0]).unwrap();
    for line in told {
        let words: Vec<_> = line.split(' ').take(2).collect();
        match words[..] {
            ["kubectl", "kustomize"] => _ = shell(&line),
            ["kubectl", "apply"] => _ = shell(&line.replace("kubectl apply -k", "kubectl kustomize")),
            ["kubectl", "create"] => {
                let secret = &parse(&shell(&format!("{line} --dry-run=client --output=yaml")))[0];
                for (key, value) in secret.at("/data").as_object().unwrap() {
                    let value = value.as_str().unwrap();
                    let is_made = if key == "token.key" { value.len() > 40 } else { value == "cGxhbnRlZA==" };
                    assert!(is_made, "{line}: {key}, without a newline, is {value}");
                }
            }
            // What is shown to tell namespaces apart is one and the same.
            ["helm", "template"] | ["jsonnet", _] => {
                let folder = tempfile::tempdir().unwrap();
                let file = folder.path().join("rules.yaml");
                let (command, name) = line.rsplit_once(" > ").unwrap();
                assert!(name.ends_with(".yaml"), "{line}");
                shell(&format!("{command} > {}", file.display()));
                let objects = parse(&fs::read_to_string(file).unwrap());
                Rules::new().hold(&line, &objects);
                let of_namespaces = "max by (namespace, source) (lease_source_up)";
                assert_eq!(objects[0].id(), "PrometheusRule/lease-exporter", "{line}");
                assert!(objects[0].0.to_string().contains(of_namespaces), "{line}");
            }
            ["helm", "install"] => {
                let line = line.replace("my-values.yaml", values.to_str().unwrap());
                assert!(shell(&format!("{line} --dry-run=client")).contains("\nNOTES:\n"));
            }
            // Of those that do, the objects are there.
            ["kubectl", "port-forward" | "exec"] => {
                let objects = kustomize(&repository("deploy/kubernetes/examples/native-sidecar"));
                let named = objects.iter().map(|object| object.id().to_lowercase());
                assert!(named.into_iter().any(|id| line.contains(&format!(" {id} "))), "{line}");
            }
            ["helm", "test"] => {}
            ["lease-exporter", "check"] => {
                let finished = run(&line.split(' ').skip(1).collect::<Vec<_>>());
                assert_eq!(finished.code, Some(0), "{line}: {}", finished.stderr);
            }
            _ => panic!("no way to try `{line}`"),
        }
    }
}

#[test]
fn the_overlay_shown_keeps_the_rules() {
    let shown = blocks(KUSTOMIZE, "yaml");
    let overlay = shown.iter().find(|block| block.contains("kind: Kustomization")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let copy = |from: &Path| Command::new("cp").arg("-r").arg(from).arg(folder.path()).status().unwrap();
    assert!(copy(&repository("deploy/kubernetes")).success());
    let example = folder.path().join("kubernetes/examples/native-sidecar");
    fs::write(example.join("kustomization.yaml"), overlay).unwrap();
    Rules::new().hold("the overlay of the README", &kustomize(&example));
}

#[test]
fn the_values_shown_keep_the_rules() {
    let folder = tempfile::tempdir().unwrap();
    let values = folder.path().join("values.yaml");
    fs::write(&values, &blocks(CHART, "yaml")[0]).unwrap();
    let chart = repository("deploy/helm/lease-exporter");
    let yaml = helm(&["template", "main", chart.to_str().unwrap(), "--values", values.to_str().unwrap()]);
    Rules::new().hold("the values of the README", &parse(&yaml.unwrap()));
}

#[test]
fn prometheus_takes_the_scrape_configuration_shown() {
    let shown = blocks(KUSTOMIZE, "yaml");
    let configuration = shown.iter().find(|block| block.starts_with("scrape_configs:")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prometheus.yml");
    // Debian's promtool is built without the discovery of Kubernetes, so that line is not looked at.
    let discovery = "kubernetes_sd_configs: [{ role: pod }]";
    assert!(configuration.contains(discovery), "{configuration}");
    // The pods of a Job that has ended are still found, and nobody answers there.
    let ended = "{ source_labels: [__meta_kubernetes_pod_phase], regex: Succeeded|Failed, action: drop }";
    assert!(configuration.contains(ended), "{configuration}");
    fs::write(&file, configuration.replace(discovery, "static_configs: [{ targets: [localhost] }]")).unwrap();
    let output = Command::new(program("promtool")).args(["check", "config"]).arg(&file).output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
