//! Where a branch is pushed to.

use std::path::PathBuf;

use super::program::{quoted, quoted_path};

/// A remote of the operator's repository, or the URL that an azolla is configured with.
pub(super) struct Target {
    /// The repository that has the remote, and the remote's name.
    remote: Option<(PathBuf, String)>,
    /// The address as it is configured: git rewrites it by the operator's own rules.
    pub(super) address: String,
    /// The address after that, without a name or a password in it: what gh gets, and what is shown.
    pub(super) place: String,
}

impl Target {
    /// The URL of an azolla.
    pub(super) fn of_url(url: String) -> Self {
        Self { remote: None, place: without_user(&url), address: url }
    }

    /// A remote: `address` as it is configured, `rewritten` as git uses it.
    pub(super) fn of_remote(repository: PathBuf, name: String, address: String, rewritten: &str) -> Self {
        Self { remote: Some((repository, name)), address, place: without_user(rewritten) }
    }

    /// Returns what a person calls it.
    pub(super) fn shown(&self) -> &str {
        self.remote.as_ref().map_or(&self.place, |(_, name)| name)
    }

    /// Returns the command that shows what is on the remote's branch.
    pub(super) fn look_at(&self, branch: &str) -> String {
        let next = "; then rename it there, or go on from it by hand";
        match &self.remote {
            Some((repository, name)) => {
                let at = quoted_path(repository);
                let (name, branch) = (quoted(name), quoted(branch));
                format!("look at it: git -C {at} fetch {name} {branch} && git -C {at} log FETCH_HEAD{next}")
            }
            None => format!("look at it: git ls-remote {} {}{next}", quoted(&self.place), quoted(branch)),
        }
    }

    /// Returns the command that pushes by hand.
    pub(super) fn by_hand(&self, commit: &str, branch: &str) -> String {
        let refspec = format!("{commit}:refs/heads/{branch}");
        match &self.remote {
            Some((repository, name)) => {
                format!("git -C {} push {} {refspec}", quoted_path(repository), quoted(name))
            }
            None => format!("git push {} {refspec}, in a clone that has it", quoted(&self.place)),
        }
    }
}

/// Takes the name and the password out of a URL. Of `user@host:path` the user stays: it is no secret there.
fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    match (scheme, authority.rsplit_once('@')) {
        ("ssh", Some((user, _))) if !user.contains(':') => url.to_owned(),
        (_, Some((_, host))) => format!("{scheme}://{host}/{path}"),
        (_, None) => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T29: what a URL carries to log in with is not shown, and is no argument of any program.
    #[test]
    fn t29_a_password_in_a_url_is_left_out() {
        for (url, place) in [
            ("https://me:s3cret@host/team/app.git", "https://host/team/app.git"),
            ("https://t0ken@host/team/app.git", "https://host/team/app.git"),
            ("https://host/team/app.git", "https://host/team/app.git"),
            ("ssh://git@host/team/app.git", "ssh://git@host/team/app.git"),
            ("ssh://git:pw@host/team/app.git", "ssh://host/team/app.git"),
            ("git@host:team/app.git", "git@host:team/app.git"),
            ("/srv/app.git", "/srv/app.git"),
        ] {
            assert_eq!(without_user(url), place);
        }
    }
}
