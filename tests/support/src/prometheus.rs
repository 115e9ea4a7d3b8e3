//! Prometheus, and what it can be asked.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use serde_json::Value;

use super::service::Service;
use super::{programs, web};

/// The labels of a series, an alert or a target.
pub type Labels = BTreeMap<String, String>;

/// A Prometheus of one's own, ended with its guard.
pub struct Prometheus {
    service: Service,
    api: PrometheusApi,
}

impl Prometheus {
    /// Starts one with this configuration. The rule files lie beside it, under their own names.
    pub fn start(configuration: &str, rule_files: &[&Path]) -> Self {
        let rules: Vec<(&str, String)> = rule_files.iter().map(|path| (name(path), read(path))).collect();
        let mut files = vec![("prometheus.yml", configuration)];
        files.extend(rules.iter().map(|(name, content)| (*name, content.as_str())));
        let program = programs::find("prometheus");
        let service = Service::start(&files, |folder, address| {
            vec![
                program.clone(),
                format!("--config.file={folder}/prometheus.yml"),
                format!("--storage.tsdb.path={folder}/data"),
                format!("--web.listen-address={address}"),
                "--web.enable-lifecycle".to_owned(),
            ]
        });
        let api = PrometheusApi::at(service.address());
        Self { service, api }
    }

    /// The HTTP API.
    pub fn api(&self) -> PrometheusApi {
        self.api
    }

    /// Gives it another configuration.
    pub fn reload(&self, configuration: &str) {
        self.service.reload("prometheus.yml", configuration);
    }

    /// The log.
    pub fn log(&self) -> String {
        self.service.log()
    }
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The HTTP API of a Prometheus, whoever started it.
#[derive(Clone, Copy, Debug)]
pub struct PrometheusApi(SocketAddr);

/// The value of one series now.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub labels: Labels,
    pub value: f64,
}

/// The values of one series over time: seconds since 1970, and the value then.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub labels: Labels,
    pub points: Vec<(f64, f64)>,
}

/// An alert, pending or firing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    pub labels: Labels,
    pub annotations: Labels,
    pub state: String,
}

/// The scraped targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub labels: Labels,
    pub health: String,
    pub last_error: String,
}

impl PrometheusApi {
    /// The API of the Prometheus that listens here.
    pub fn at(address: SocketAddr) -> Self {
        Self(address)
    }

    /// Where it listens.
    pub fn address(self) -> SocketAddr {
        self.0
    }

    /// An expression's series now.
    pub fn query(self, expression: &str) -> Vec<Sample> {
        let data = self.data("query", &[("query", expression)]);
        assert_eq!(data["resultType"], "vector", "{expression}");
        let sample = |entry: &Value| Sample { labels: labels(&entry["metric"]), value: point(&entry["value"]).1 };
        list(&data["result"]).iter().map(sample).collect()
    }

    /// An expression's series from one second since 1970 to another, a point each step.
    pub fn query_range(self, expression: &str, from: f64, to: f64, step: f64) -> Vec<Series> {
        let [from, to, step] = [from, to, step].map(|number| number.to_string());
        let parameters = [("query", expression), ("start", &from), ("end", &to), ("step", &step)];
        let data = self.data("query_range", &parameters);
        let series = |entry: &Value| Series {
            labels: labels(&entry["metric"]),
            points: list(&entry["values"]).iter().map(point).collect(),
        };
        list(&data["result"]).iter().map(series).collect()
    }

    /// Its own clock, in seconds since 1970.
    pub fn now(self) -> f64 {
        self.query("vector(time())")[0].value
    }

    /// Every alert that is pending or fires.
    pub fn alerts(self) -> Vec<Alert> {
        let data = self.data("alerts", &[]);
        let alert = |entry: &Value| Alert {
            labels: labels(&entry["labels"]),
            annotations: labels(&entry["annotations"]),
            state: text(&entry["state"]),
        };
        list(&data["alerts"]).iter().map(alert).collect()
    }

    /// Everything that is scraped.
    pub fn targets(self) -> Vec<Target> {
        let data = self.data("targets", &[("state", "active")]);
        let target = |entry: &Value| Target {
            labels: labels(&entry["labels"]),
            health: text(&entry["health"]),
            last_error: text(&entry["lastError"]),
        };
        list(&data["activeTargets"]).iter().map(target).collect()
    }

    /// The names of the rules that it has loaded, each as often as it is there.
    pub fn rules(self) -> Vec<String> {
        let data = self.data("rules", &[]);
        let groups = list(&data["groups"]);
        groups.iter().flat_map(|group| list(&group["rules"])).map(|rule| text(&rule["name"])).collect()
    }

    /// When each group of rules was last evaluated, as it says it: a change is another evaluation.
    pub fn last_evaluations(self) -> BTreeMap<String, String> {
        let data = self.data("rules", &[]);
        list(&data["groups"]).iter().map(|group| (text(&group["name"]), text(&group["lastEvaluation"]))).collect()
    }

    fn data(self, what: &str, parameters: &[(&str, &str)]) -> Value {
        let mut answer = web::json(self.0, &format!("/api/v1/{what}"), parameters);
        assert_eq!(answer["status"], "success", "{answer}");
        answer["data"].take()
    }
}

fn labels(value: &Value) -> Labels {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), text(value))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}")).to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("not a list: {value}"))
}

/// `[seconds, "value"]`.
fn point(value: &Value) -> (f64, f64) {
    let seconds = value[0].as_f64().unwrap_or_else(|| panic!("not a point: {value}"));
    (seconds, text(&value[1]).parse().unwrap())
}
