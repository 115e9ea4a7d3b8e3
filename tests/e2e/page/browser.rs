//! A headless Chromium, controlled by the DevTools protocol over two pipes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::store::folder;
use crate::harness::{PATIENCE, eventually};
use crate::servers;

/// The start command. The pipes are descriptors 3 and 4; the browser ends when they are closed.
const PIPED: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#;
const FLAGS: [&str; 12] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--remote-debugging-pipe",
];

/// A browser, which ends when the guard is dropped.
pub(super) struct Browser {
    child: Child,
    words: ChildStdin,
    answers: Receiver<Value>,
    asked: u64,
    session: Option<String>,
    windows: Vec<String>,
    /// Errors of scripts and violations of the security policy.
    complaints: Vec<String>,
    _profile: TempDir,
}

impl Browser {
    /// Starts a browser. Returns `None` if the tests run without one.
    pub(super) fn start() -> Option<Self> {
        if servers::is_left_out("chromium") {
            return None;
        }
        let profile = folder();
        let mut child = Command::new("sh")
            .args(["-c", PIPED, &servers::program("chromium")])
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .env("TZ", "UTC")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let words = child.stdin.take().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while said.read_until(0, &mut message).is_ok_and(|read| read > 0) {
                message.pop();
                let Ok(message) = serde_json::from_slice(&std::mem::take(&mut message)) else { return };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let complaints = Vec::new();
        let mut browser =
            Self { child, words, answers, asked: 0, session: None, windows: Vec::new(), complaints, _profile: profile };
        browser.attach();
        Some(browser)
    }

    fn attach(&mut self) {
        let targets = self.ask("Target.getTargets", json!({}));
        let page = targets["targetInfos"].as_array().unwrap().iter().find(|target| target["type"] == "page").cloned();
        let page = page.unwrap_or_else(|| self.ask("Target.createTarget", json!({ "url": "about:blank" })));
        self.attach_to(&page["targetId"]);
        self.focus(true);
    }

    /// Opens another visible window and makes it the current one.
    pub(super) fn window(&mut self, focused: bool) {
        self.another(true);
        self.windows.extend(self.session.clone());
        self.focus(focused);
    }

    /// Without a window system, focus is not exclusive, so each page is told whether it has the focus.
    fn focus(&mut self, focused: bool) {
        let script = format!("document.hasFocus = () => {focused}");
        self.ask("Page.addScriptToEvaluateOnNewDocument", json!({ "source": script }));
    }

    /// Opens a tab that hides the current page and takes the focus.
    pub(super) fn cover(&mut self) {
        let covered = self.session.clone();
        self.another(false);
        self.session = covered;
        self.until("the page to be covered", "document.hidden");
    }

    fn another(&mut self, window: bool) {
        self.session = None;
        let target = self.ask("Target.createTarget", json!({ "url": "about:blank", "newWindow": window }));
        self.attach_to(&target["targetId"]);
    }

    /// The windows after the first.
    pub(super) fn windows(&self) -> Vec<String> {
        self.windows.clone()
    }

    /// Makes a window the current one.
    pub(super) fn turn_to(&mut self, window: String) {
        self.session = Some(window);
    }

    fn attach_to(&mut self, target: &Value) {
        self.session = None;
        let attached = self.ask("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        self.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            self.ask(domain, json!({}));
        }
        self.size(1200, 900);
    }

    /// Calls a method of the protocol that cannot fail, and waits for the result.
    pub(super) fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.answer(method, &parameters).unwrap_or_else(|error| panic!("{method} {parameters}: {error}"))
    }

    fn answer(&mut self, method: &str, parameters: &Value) -> Result<Value, Value> {
        self.asked += 1;
        let mut message = json!({ "id": self.asked, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.words.write_all(&[message.to_string().as_bytes(), b"\0"].concat()).unwrap();
        loop {
            let mut answer = self.answers.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no answer to {method}"));
            if answer["id"] == self.asked {
                return if answer.get("error").is_none() {
                    Ok(answer["result"].take())
                } else {
                    Err(answer["error"].take())
                };
            }
            match answer["method"].as_str() {
                Some("Runtime.exceptionThrown") => self.complaints.push(answer["params"].to_string()),
                // A failed request is logged by the browser. It is no error of the page.
                Some("Log.entryAdded") if answer["params"]["entry"]["source"] != "network" => {
                    self.complaints.push(answer["params"]["entry"]["text"].to_string());
                }
                _ => {}
            }
        }
    }

    /// Opens an address and waits until the page is loaded.
    pub(super) fn open(&mut self, address: &str) {
        let gone = self.ask("Page.navigate", json!({ "url": address }));
        assert!(gone.get("errorText").is_none(), "{address}: {gone}");
        self.until(
            "the page to be there",
            "document.readyState === 'complete' && document.getElementById('main') !== null",
        );
    }

    /// Evaluates an expression on the page.
    pub(super) fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut answer = self.ask("Runtime.evaluate", parameters);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    /// Evaluates an expression that returns a text.
    pub(super) fn text(&mut self, expression: &str) -> String {
        let value = self.value(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression} is {value}")).to_owned()
    }

    /// Waits until an expression is true, also across a navigation.
    pub(super) fn until(&mut self, what: &str, expression: &str) {
        let parameters = json!({ "expression": format!("Boolean({expression})"), "returnByValue": true });
        eventually(what, || {
            let answer = self.answer("Runtime.evaluate", &parameters).ok()?;
            (answer["result"]["value"] == true).then_some(())
        });
    }

    /// Presses and releases a key.
    pub(super) fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            _ => panic!("what key is {key}?"),
        };
        let down = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        for kind in [down, "keyUp"] {
            let parameters =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text });
            self.ask("Input.dispatchKeyEvent", parameters);
        }
    }

    /// Types a text into the focused element.
    pub(super) fn write(&mut self, text: &str) {
        self.ask("Input.insertText", json!({ "text": text }));
    }

    /// Presses Tab until an expression is true for `it`, the focused element.
    pub(super) fn tab_to(&mut self, what: &str) {
        for _ in 0..60 {
            self.press("Tab");
            if self.value(&format!("(it => {what})(document.activeElement)")) == true {
                return;
            }
        }
        panic!("the keyboard does not get to {what}");
    }

    pub(super) fn size(&mut self, width: u32, height: u32) {
        let parameters = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.ask("Emulation.setDeviceMetricsOverride", parameters);
    }

    pub(super) fn dark(&mut self, dark: bool) {
        let value = if dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": value }]);
        self.ask("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    pub(super) fn without_script(&mut self) {
        self.ask("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    }

    /// Checks that the page had no script error and no violation of its security policy.
    pub(super) fn assert_no_complaints(&mut self) {
        self.value("1");
        assert!(self.complaints.is_empty(), "{:#?}", self.complaints);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
