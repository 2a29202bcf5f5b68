//! The command that installs a package here.

/// The package managers that are looked for, by their program, with the words before a package's name.
const MANAGERS: [(&str, &str); 6] = [
    ("apt-get", "sudo apt-get install"),
    ("dnf", "sudo dnf install"),
    ("pacman", "sudo pacman -S"),
    ("zypper", "sudo zypper install"),
    ("apk", "sudo apk add"),
    ("brew", "brew install"),
];

/// Returns how `package` is installed on this machine, as a command where its package manager is known.
pub(super) fn command(package: &str) -> String {
    // Where they are, and not on PATH: a PATH without git may lack the rest too.
    const PLACES: &str = "/usr/bin:/usr/sbin:/bin:/sbin:/opt/homebrew/bin:/usr/local/bin";
    let is_there = |program: &str| azolla_process::find(program.as_ref(), PLACES.as_ref()).is_some();
    match MANAGERS.iter().find(|(program, _)| is_there(program)) {
        Some((_, words)) => format!("{words} {package}"),
        None => format!("install {package}"),
    }
}
