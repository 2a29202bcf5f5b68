//! Opens the dashboard in the operator's browser. The link is a secret until it is used, and what a program is started with
//! is there for every user of the machine to read: so the browser is given a file for its owner alone, which leads on.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::OpenOptions,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use azolla_process::{Bounds, Capture, Containment, Exit, Program, ResourceLimits, Sandbox};
use azolla_protocol::IdSource;
use azolla_substrate::SystemIds;
use tokio::task::JoinHandle;

use crate::screen::remark;

/// How long the program that hands the file to a browser is waited for. Some are the browser from then on.
const TIME_MAX: Duration = Duration::from_secs(20);

/// A browser that is being opened: the file that leads it on is there until this ends.
pub(super) struct Opening(JoinHandle<()>);

impl Opening {
    /// Opens the link. That nobody can is no failure: it is on the screen.
    pub(super) fn begin(directory: PathBuf, link: String) -> Self {
        Self(tokio::spawn(async move {
            let leading = match Leading::make(&directory, &link) {
                Ok(leading) => leading,
                Err(error) => return not_opened(&error.to_string()),
            };
            if let Err(why) = leading.open().await {
                not_opened(&why);
            }
            // Somebody may open it by hand, or again.
            std::future::pending().await
        }))
    }

    /// Takes the file away. What was opened stays.
    pub(super) async fn end(self) {
        self.0.abort();
        let _ = self.0.await;
    }
}

fn not_opened(why: &str) {
    remark(&format!("no browser was opened: {why}; open the link above"));
}

/// The file that leads a browser on; removed when it is dropped.
struct Leading(PathBuf);

impl Leading {
    /// Makes it in `directory`, for its owner alone.
    fn make(directory: &Path, link: &str) -> std::io::Result<Self> {
        std::fs::create_dir_all(directory)?;
        let path = directory.join(format!("open-{}.html", SystemIds::default().body()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let leading = Self(path);
        file.write_all(page(link).into_string().as_bytes())?;
        Ok(leading)
    }

    /// Hands it to a browser, or says why that is not done.
    async fn open(&self) -> Result<(), String> {
        let variables: BTreeMap<OsString, OsString> =
            std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_passed)).collect();
        if cfg!(target_os = "linux") && !has_display(&variables) {
            return Err("there is no display here".to_owned());
        }
        let mut program = opener(&variables).ok_or("there is neither xdg-open nor open")?;
        program.arguments.push(self.0.clone().into());
        let quiet = Capture::Tail(1_000);
        let bounds = Bounds {
            time: Some(TIME_MAX),
            grace: Duration::from_secs(1),
            stdout: quiet,
            stderr: quiet,
            containment: Containment::Group,
            limits: ResourceLimits::default(),
            sandbox: Sandbox::Off,
        };
        let finished = azolla_process::run(&program, &bounds).await.map_err(|error| error.to_string())?;
        match finished.exit {
            Exit::Code(0) | Exit::TimedOut => Ok(()),
            exit => Err(format!("{} ended with {exit:?}", program.path.display())),
        }
    }
}

impl Drop for Leading {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn page(link: &str) -> maud::Markup {
    maud::html! {
        (maud::DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="refresh" content={ "0; url=" (link) };
                title { "azolla" }
            }
            body { p { a href=(link) { "Go on to azolla" } } }
        }
    }
}

/// Returns the program that hands a file to a browser. A browser that it starts has to outlive us: it gets a session of
/// its own where there is the program for that.
fn opener(variables: &BTreeMap<OsString, OsString>) -> Option<Program> {
    let path = variables.get(&OsString::from("PATH")).cloned().unwrap_or_default();
    let find = |name: &str| azolla_process::find(name.as_ref(), &path);
    let opener = find("xdg-open").or_else(|| find("open"))?;
    let (path, arguments) = match find("setsid") {
        Some(setsid) => (setsid, vec!["--fork".into(), "--wait".into(), opener.into()]),
        None => (opener, Vec::new()),
    };
    let directory = PathBuf::from("/");
    Some(Program { path, arguments, directory, environment: variables.clone(), input: Vec::new() })
}

fn has_display(variables: &BTreeMap<OsString, OsString>) -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| variables.get(&OsString::from(name)).is_some_and(|value| !value.is_empty()))
}

/// Tells whether a browser is given a variable: what desktops need, and no key of a provider.
fn is_passed(name: &str) -> bool {
    const NAMES: [&str; 14] = [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "TMPDIR",
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "XAUTHORITY",
        "DBUS_SESSION_BUS_ADDRESS",
        "BROWSER",
        "DESKTOP_SESSION",
        "WSL_DISTRO_NAME",
    ];
    const BEGINNINGS: [&str; 4] = ["LC_", "XDG_", "KDE_", "GNOME_"];
    NAMES.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn t29_the_link_is_in_a_file_for_its_owner_alone_while_it_is_needed() {
        let directory = tempfile::tempdir().unwrap();
        let leading = Leading::make(directory.path(), "http://127.0.0.1:1/login?code=1").unwrap();
        let path = leading.0.clone();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(std::fs::read_to_string(&path).unwrap().contains("0; url=http://127.0.0.1:1/login?code=1"));
        drop(leading);
        assert!(!path.exists());
    }

    #[test]
    fn t29_a_browser_gets_no_key() {
        assert!(is_passed("DISPLAY") && is_passed("XDG_RUNTIME_DIR") && is_passed("LC_ALL"));
        assert!(!is_passed("ANTHROPIC_API_KEY") && !is_passed("AZOLLA_HOME") && !is_passed("SSH_AUTH_SOCK"));
    }
}
