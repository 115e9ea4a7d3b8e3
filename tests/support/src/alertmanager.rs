//! Alertmanager, and what it can be asked.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};

use super::service::Service;
use super::{programs, web};

/// An Alertmanager of one's own, ended with its guard.
pub struct Alertmanager {
    service: Service,
    api: AlertmanagerApi,
}

impl Alertmanager {
    /// Starts one with this configuration.
    pub fn start(configuration: &str) -> Self {
        let program = programs::find("prometheus-alertmanager");
        let service = Service::start(&[("alertmanager.yml", configuration)], |folder, address| {
            // Where its templates are, if it was taken out of its package.
            let its_folder = Path::new(&program).parent().map(|folder| super::kind::text(folder.to_owned()));
            vec![
                "env".to_owned(),
                format!("--chdir={}", its_folder.unwrap_or_default()),
                program.clone(),
                format!("--config.file={folder}/alertmanager.yml"),
                format!("--storage.path={folder}/data"),
                format!("--web.listen-address={address}"),
                // Alone, and on no other port.
                "--cluster.listen-address=".to_owned(),
            ]
        });
        let api = AlertmanagerApi::at(service.address());
        Self { service, api }
    }

    /// The HTTP API.
    pub fn api(&self) -> AlertmanagerApi {
        self.api
    }

    /// Gives it another configuration.
    pub fn reload(&self, configuration: &str) {
        self.service.reload("alertmanager.yml", configuration);
    }

    /// The log.
    pub fn log(&self) -> String {
        self.service.log()
    }
}

/// The HTTP API of an Alertmanager, whoever started it.
#[derive(Clone, Copy, Debug)]
pub struct AlertmanagerApi(SocketAddr);

/// The status of an alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    pub labels: BTreeMap<String, String>,
    /// `unprocessed`, `active` or `suppressed`.
    pub state: String,
    /// How many alerts inhibit it.
    pub inhibited_by: usize,
    pub receivers: Vec<String>,
}

impl AlertmanagerApi {
    /// The API of the Alertmanager that listens here.
    pub fn at(address: SocketAddr) -> Self {
        Self(address)
    }

    /// Where it listens.
    pub fn address(self) -> SocketAddr {
        self.0
    }

    /// Tells it of alerts, by their labels, as Prometheus does.
    pub fn send(self, alerts: &[&[(&str, &str)]]) {
        let alert = |labels: &&[(&str, &str)]| json!({ "labels": labels.iter().copied().collect::<BTreeMap<_, _>>() });
        let body = Value::Array(alerts.iter().map(alert).collect()).to_string();
        let reply = web::post(self.0, "/api/v2/alerts", &body).expect("an answer");
        assert_eq!(reply.status, 200, "{}", reply.body);
    }

    /// Every alert that it knows and that goes on.
    pub fn alerts(self) -> Vec<Received> {
        let list = web::json(self.0, "/api/v2/alerts", &[]);
        let texts = |value: &Value, key: &str| -> Vec<String> {
            let list = value.as_array().into_iter().flatten();
            list.map(|entry| if key.is_empty() { entry } else { &entry[key] })
                .filter_map(|text| text.as_str().map(str::to_owned))
                .collect()
        };
        let labels = |value: &Value| {
            let labels = value.as_object().into_iter().flatten();
            labels.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
        };
        let received = |entry: &Value| Received {
            labels: labels(&entry["labels"]),
            state: entry["status"]["state"].as_str().unwrap_or_default().to_owned(),
            inhibited_by: texts(&entry["status"]["inhibitedBy"], "").len(),
            receivers: texts(&entry["receivers"], "name"),
        };
        list.as_array().into_iter().flatten().map(received).collect()
    }
}
