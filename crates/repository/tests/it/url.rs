//! What is an address, and what of it is shown.

use lanai_repository::{RemoteUrl, Revision};

fn shown(raw: &str) -> String {
    match raw.parse::<RemoteUrl>() {
        Ok(url) => {
            assert_eq!(format!("{url:?}"), format!("RemoteUrl({url})"));
            url.to_string()
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn addresses_are_shown_without_secrets() {
    for (raw, expected) in [
        ("https://example.com/a/b.git", "https://example.com/a/b.git"),
        ("https://example.com/a/b/", "https://example.com/a/b"),
        ("HTTPS://ann:secret@example.com:8443/a", "https://example.com:8443/a"),
        ("https://token@example.com/a", "https://example.com/a"),
        ("http://ann:s%40c@[::1]:80/a", "http://[::1]:80/a"),
        ("ssh://git:secret@example.com:22/a.git", "ssh://git@example.com:22/a.git"),
        ("ssh://example.com/~ann/a", "ssh://example.com/~ann/a"),
        ("git@example.com:team/a.git", "git@example.com:team/a.git"),
        ("[::1]:a", "[::1]:a"),
        ("git@[host:22]:a", "git@[host:22]:a"),
        ("/some/where", "/some/where"),
        ("./with:colon", "./with:colon"),
        ("file:///some/where", "file:///some/where"),
    ] {
        assert_eq!(shown(raw), expected, "{raw}");
    }
}

#[test]
fn what_git_refuses_is_refused() {
    for (raw, why) in [
        ("", "it is empty"),
        ("-oProxyCommand=touch x", "it begins with a dash"),
        ("ssh://-oProxyCommand=touch%20x/a", "\"-oProxyCommand=touch%20x\" begins with a dash"),
        ("ssh://-l@host/a", "\"-l\" begins with a dash"),
        ("host:-upload-pack", "\"-upload-pack\" begins with a dash"),
        ("a@-host:b", "\"-host\" begins with a dash"),
        ("https://-host/a", "\"-host\" is no host"),
        ("https:///a", "it has no host"),
        ("https://ho st/a", "\"ho st\" is no host"),
        ("https://host/a\nb", "it has a control character"),
        ("ssh://host/a%0ab", "it has a control character"),
        ("https://host%00/a", "\"host%00\" is no host"),
        ("ssh://host/%zz", "a percent sign is not followed by two hexadecimal digits"),
        ("ssh://host:port/a", "\"port\" is no port"),
        ("ssh://host", "it has no path"),
        ("host:", "it has no path"),
        ("ext::sh -c id", "transport \"ext\" is not allowed"),
        ("fd::17", "transport \"fd\" is not allowed"),
        ("git://host/a", "scheme \"git\" is none of file, http, https, ssh"),
        ("ftp://host/a", "scheme \"ftp\" is none of file, http, https, ssh"),
        ("file://host/a", "the path of a file address begins with a slash (file:///path)"),
    ] {
        let shown = shown(raw);
        assert!(shown.ends_with(&format!("is no address of a git repository: {why}")), "{raw}: {shown}");
    }
    let hidden = "ftp://ann:secret@host/a".parse::<RemoteUrl>().unwrap_err();
    assert!(!format!("{hidden:?} {hidden}").contains("secret"), "{hidden}");
}

#[test]
fn revisions_are_names_or_commits() {
    let commit = "0123456789012345678901234567890123456789";
    assert!(matches!(commit.parse(), Ok(Revision::Commit(id)) if id.to_string() == commit));
    for name in ["main", "v1.0", "a/b", "refs/heads/main", "0123456"] {
        assert!(matches!(name.parse(), Ok(Revision::Name(found)) if found.as_str() == name), "{name}");
    }
    for bad in ["", "-x", "a..b", "a b", "a:b", "main~1", "a\n", "@{1}"] {
        assert!(bad.parse::<Revision>().is_err(), "{bad}");
    }
    assert_eq!(
        "-x".parse::<Revision>().unwrap_err().to_string(),
        "revision \"-x\" is no name of a branch or tag, and no commit: it begins with a dash"
    );
}
