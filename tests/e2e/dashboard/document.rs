//! The part of the dashboard file that the tests need.

use serde_json::Value;

use crate::harness::contents;

/// The dashboard file.
pub(super) struct Dashboard(Value);

/// A panel that is not a row.
pub(super) struct Panel<'a>(&'a Value);

/// One query of a panel.
pub(super) struct Query<'a> {
    pub(super) panel: &'a str,
    json: &'a Value,
}

/// A file of `deploy/grafana`.
pub(super) fn file(name: &str) -> String {
    contents(&format!("deploy/grafana/{name}"))
}

/// The text of a required field.
pub(super) fn text<'a>(json: &'a Value, field: &str) -> &'a str {
    json[field].as_str().unwrap_or_else(|| panic!("no {field} in {json}"))
}

/// The entries of a required list.
pub(super) fn list<'a>(json: &'a Value, field: &str) -> &'a [Value] {
    json[field].as_array().unwrap_or_else(|| panic!("no {field} in {json}"))
}

impl Dashboard {
    /// The shipped dashboard.
    pub(super) fn shipped() -> Self {
        Self(serde_json::from_str(&file("lease-exporter.json")).unwrap())
    }

    /// The JSON.
    pub(super) fn json(&self) -> &Value {
        &self.0
    }

    /// Panels and rows.
    pub(super) fn boxes(&self) -> &[Value] {
        list(&self.0, "panels")
    }

    /// Panels without rows.
    pub(super) fn panels(&self) -> Vec<Panel<'_>> {
        self.boxes().iter().filter(|panel| panel["type"] != "row").map(Panel).collect()
    }

    /// The panel with a title.
    pub(super) fn panel(&self, title: &str) -> Panel<'_> {
        let found = self.panels().into_iter().find(|panel| panel.title() == title);
        found.unwrap_or_else(|| panic!("no panel {title:?}"))
    }

    /// Every query of every panel.
    pub(super) fn queries(&self) -> Vec<Query<'_>> {
        self.panels().iter().flat_map(Panel::queries).collect()
    }

    /// The series and the label of each variable with a query.
    pub(super) fn choices(&self) -> Vec<(&str, &str)> {
        let queries = self.variables().iter().filter(|variable| variable["type"] == "query");
        let parts = queries.map(|variable| {
            let words = text(&variable["query"], "query").strip_prefix("label_values(")?.strip_suffix(')')?;
            words.rsplit_once(", ")
        });
        parts.map(|parts| parts.expect("label_values(series, label)")).collect()
    }

    /// The variables in the file.
    pub(super) fn variables(&self) -> &[Value] {
        list(&self.0["templating"], "list")
    }
}

impl<'a> Panel<'a> {
    /// The JSON.
    pub(super) fn json(&self) -> &'a Value {
        self.0
    }

    /// The title.
    pub(super) fn title(&self) -> &'a str {
        text(self.0, "title")
    }

    /// The type of the visualization.
    pub(super) fn kind(&self) -> &'a str {
        text(self.0, "type")
    }

    /// The queries.
    pub(super) fn queries(&self) -> Vec<Query<'a>> {
        list(self.0, "targets").iter().map(|json| Query { panel: self.title(), json }).collect()
    }

    /// The query with a reference ID.
    pub(super) fn query(&self, letter: &str) -> Query<'a> {
        self.queries().into_iter().find(|query| query.letter() == letter).unwrap()
    }

    /// The overrides of series and columns.
    pub(super) fn overrides(&self) -> &'a [Value] {
        list(&self.0["fieldConfig"], "overrides")
    }
}

impl<'a> Query<'a> {
    /// The JSON of the query.
    pub(super) fn json(&self) -> &'a Value {
        self.json
    }

    /// The reference ID.
    pub(super) fn letter(&self) -> &'a str {
        text(self.json, "refId")
    }

    /// The expression with variables.
    pub(super) fn expression(&self) -> &'a str {
        text(self.json, "expr")
    }

    /// Whether it is an instant query.
    pub(super) fn is_instant(&self) -> bool {
        self.json["instant"] == true
    }

    /// The labels in the legend.
    pub(super) fn named_labels(&self) -> Vec<&'a str> {
        let legend = self.json["legendFormat"].as_str().unwrap_or_default();
        legend.split("{{").skip(1).filter_map(|rest| rest.split("}}").next()).collect()
    }
}
