//! Repositories on this machine.

use lanai_krm::digest;
use lanai_repository::{Error, Revision, Silent, Want};
use lanai_types::{ByteSize, TreeId};

use crate::repository::{Repository, git};
use crate::{folder, listing, options, read, remotes, resolve};
use lanai_repository::Remotes;

#[test]
fn a_folder_is_read_as_git_has_it() {
    let repository = Repository::new();
    repository.write("pkg/Kptfile", "kind: Kptfile\n");
    repository.write("pkg/sub/run.sh", "#!/bin/sh\n");
    repository.write("pkg.yaml", "not: it\n");
    std::os::unix::fs::symlink("../outside", repository.path().join("pkg/link")).unwrap();
    repository.git(&["add", "--all"]);
    repository.git(&["update-index", "--chmod=+x", "pkg/sub/run.sh"]);
    repository.git(&["commit", "--quiet", "-m", "one"]);
    let commit = repository.git(&["rev-parse", "HEAD"]);

    let home = tempfile::tempdir().unwrap();
    let content = read(&remotes(home.path(), &[]), &repository.url(), &commit, "pkg").unwrap();
    assert_eq!(
        listing(&content),
        ["100644 Kptfile kind: Kptfile\n", "120000 link ../outside", "100755 sub/run.sh #!/bin/sh\n"]
    );
    let tree: TreeId = repository.git(&["rev-parse", "HEAD:pkg"]).parse().unwrap();
    assert_eq!((content.tree, digest::tree_id(&content.package).unwrap()), (tree, tree));
    assert!(!home.path().join("cache").exists(), "a local repository is read where it is");
}

#[test]
fn all_addresses_of_a_local_repository_lead_there() {
    let repository = Repository::with(&[("a", "1")]);
    let home = tempfile::tempdir().unwrap();
    let bare = repository.bare(home.path());
    let commit = repository.git(&["rev-parse", "HEAD"]);
    git(&bare, &["worktree", "add", "--quiet", "../tree", "main"], b"");
    git(&bare, &["pack-refs", "--all"], b"");
    let remotes = remotes(home.path(), &[]);
    let at = |path: &str| home.path().join(path).to_str().unwrap().to_owned();
    for url in [
        repository.url(),
        format!("{}/.git", repository.url()),
        format!("file://{}", repository.url()),
        at("bare.git"),
        at("bare"),
        at("tree"),
    ] {
        let found =
            remotes.resolve(&url.parse().unwrap(), &Revision::DefaultBranch, &folder(""), &Silent).unwrap();
        assert_eq!((found.commit.to_string(), found.name.as_str()), (commit.clone(), "main"), "{url}");
        assert_eq!(listing(&read(&remotes, &url, &commit, "").unwrap()), ["100644 a 1"], "{url}");
    }
}

#[test]
fn names_are_found_as_kpt_finds_them() {
    let repository = Repository::with(&[("a/b/f", "1")]);
    let home = tempfile::tempdir().unwrap();
    let remotes = remotes(home.path(), &[]);
    let first = repository.git(&["rev-parse", "HEAD"]);
    let second = repository.commit(&[("a/b/f", "2")]);
    let third = repository.commit(&[("a/b/f", "3")]);
    repository.git(&["tag", "-a", "v1", "-m", "annotated", &first]);
    repository.git(&["tag", "-a", "outer", "-m", "a tag of a tag", "v1"]);
    repository.git(&["branch", "v1", &third]);
    repository.git(&["tag", "a/v1", &second]);
    repository.git(&["tag", "only", &second]);
    repository.git(&["branch", "release/1", &second]);
    repository.git(&["update-ref", "refs/changes/1", &second]);

    let check = |revision: &str, at: &str, commit: &str, name: &str, full: &str| {
        let found = resolve(&remotes, &repository.url(), revision, at).unwrap();
        let full_found = found.ref_name.map(|name| name.to_string()).unwrap_or_default();
        assert_eq!(
            (found.commit.to_string(), found.name, full_found),
            (commit.to_owned(), name.to_owned(), full.to_owned()),
            "{revision} in {at}"
        );
    };
    check("v1", "a/b", &second, "a/v1", "refs/tags/a/v1");
    check("v1", "a", &second, "a/v1", "refs/tags/a/v1");
    check("v1", "", &third, "v1", "refs/heads/v1");
    check("v1", "other", &third, "v1", "refs/heads/v1");
    check("only", "a/b", &second, "only", "refs/tags/only");
    check("outer", "", &first, "outer", "refs/tags/outer");
    check("release/1", "a", &second, "release/1", "refs/heads/release/1");
    check("refs/tags/v1", "a", &first, "refs/tags/v1", "refs/tags/v1");
    check("refs/changes/1", "", &second, "refs/changes/1", "refs/changes/1");
    check(&first, "a", &first, &first, "");
    repository.git(&["tag", "a/b/v1", &first]);
    check("v1", "a/b", &first, "a/b/v1", "refs/tags/a/b/v1");
}

#[test]
fn a_name_that_does_not_exist_is_answered_with_its_neighbours() {
    let repository = Repository::with(&[("a", "1")]);
    repository.git(&["tag", "pkg/v1.2"]);
    repository.git(&["tag", "v1.20"]);
    let home = tempfile::tempdir().unwrap();
    let error = resolve(&remotes(home.path(), &[]), &repository.url(), "v1.3", "pkg").unwrap_err();
    assert!(matches!(error, Error::UnknownRevision { .. }));
    assert_eq!(
        error.to_string(),
        format!(
            "repository \"{}\" has no branch or tag \"v1.3\"\nhint: it has \"pkg/v1.2\", \"v1.20\"",
            repository.url()
        )
    );
}

#[test]
fn what_is_not_there_is_named() {
    let repository = Repository::with(&[("a/f", "1")]);
    let home = tempfile::tempdir().unwrap();
    let remotes = remotes(home.path(), &[]);
    let commit = repository.git(&["rev-parse", "HEAD"]);
    let url = repository.url();
    let check = |result: Result<_, Error>, text: String| {
        assert_eq!(result.map(|_: lanai_repository::Content| ()).unwrap_err().to_string(), text);
    };
    let short = &commit[..7];
    check(
        read(&remotes, &url, &commit, "b"),
        format!("repository \"{url}\" has no folder \"b\" in commit {short}"),
    );
    check(
        read(&remotes, &url, &commit, "a/f"),
        format!("repository \"{url}\" has no folder \"a/f\" in commit {short}"),
    );
    let unknown = "1".repeat(40);
    check(
        read(&remotes, &url, &unknown, ""),
        format!("repository \"{url}\" has no commit {unknown}, or does not give it away"),
    );
    let nowhere = home.path().join("nowhere").to_str().unwrap().to_owned();
    check(
        read(&remotes, &nowhere, &commit, ""),
        format!("\"{nowhere}\" is no git repository: it does not exist"),
    );
    let empty = home.path().to_str().unwrap();
    check(
        read(&remotes, empty, &commit, ""),
        format!("\"{empty}\" is no git repository: it has no HEAD, refs and objects"),
    );
    let tree = repository.git(&["rev-parse", "HEAD^{tree}"]);
    check(
        read(&remotes, &url, &tree, ""),
        format!("repository \"{url}\" uses tree {tree} in place of a commit, which is not supported"),
    );
    let unborn = Repository::new();
    let error =
        remotes.resolve(&unborn.url().parse().unwrap(), &Revision::DefaultBranch, &folder(""), &Silent);
    assert_eq!(
        error.unwrap_err().to_string(),
        format!("repository \"{}\" has no default branch; is it empty?", unborn.url())
    );
}

#[test]
fn formats_that_would_be_misread_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let repository = Repository::with(&[("a", "1")]);
    let remotes = remotes(home.path(), &[]);
    for (key, value, what) in [
        ("extensions.objectFormat", "sha256", "object ids of sha256"),
        ("extensions.refStorage", "reftable", "refs in the format reftable"),
    ] {
        let config = repository.path().join(".git/config");
        let before = std::fs::read_to_string(&config).unwrap();
        let (section, key) = key.split_once('.').unwrap();
        std::fs::write(&config, format!("{before}[{section}]\n{key} = {value}\n")).unwrap();
        let error = resolve(&remotes, &repository.url(), "main", "").unwrap_err();
        std::fs::write(&config, before).unwrap();
        assert_eq!(
            error.to_string(),
            format!("repository \"{}\" uses {what}, which is not supported", repository.url())
        );
    }
}

#[test]
fn submodules_are_named_and_not_read() {
    let inner = Repository::with(&[("x", "1")]);
    let repository = Repository::with(&[("pkg/f", "1")]);
    repository.git(&["submodule", "--quiet", "add", &inner.url(), "pkg/deep/module"]);
    let commit = repository.commit(&[]);
    let home = tempfile::tempdir().unwrap();
    let content = read(&remotes(home.path(), &[]), &repository.url(), &commit, "pkg").unwrap();
    assert_eq!(listing(&content), ["100644 f 1"]);
    assert_eq!(content.submodules.iter().map(ToString::to_string).collect::<Vec<_>>(), ["deep/module"]);
}

#[test]
fn hostile_trees_are_refused() {
    let repository = Repository::with(&[("a", "1")]);
    let home = tempfile::tempdir().unwrap();
    let remotes = remotes(home.path(), &[]);
    let blob = repository.blob("evil");
    let check = |entries: &[(&str, &str, &[u8])], text: &str| {
        let commit = repository.commit_raw_tree(entries);
        let error = read(&remotes, &repository.url(), &commit, "").unwrap_err();
        let start = format!("folder \".\" of \"{}\" at commit {}", repository.url(), &commit[..7]);
        assert_eq!(error.to_string(), format!("{start}{text}"));
    };
    check(&[("100644", &blob, b"..")], ": path \"..\" has a segment \".\" or \"..\"");
    check(
        &[("100644", &blob, b".git")],
        ": path \".git\" leads into a git repository's own folder on some file systems",
    );
    check(
        &[("100644", &blob, b".GIT")],
        ": path \".GIT\" leads into a git repository's own folder on some file systems",
    );
    check(
        &[("100644", &blob, b"/etc/passwd")],
        ": path \"/etc/passwd\" is absolute; paths are relative to the package",
    );
    check(&[("100644", &blob, b"a/../../b")], ": path \"a/../../b\" has a segment \".\" or \"..\"");
    check(&[("100644", &blob, b"a\\b")], ": path \"a\\\\b\" has a backslash");
    check(&[("100644", &blob, b"a"), ("100755", &blob, b"a")], ": path \"a\" is there twice");
    let tree = repository.git(&["rev-parse", "HEAD^{tree}"]);
    check(
        &[("100644", &blob, b"a"), ("40000", &tree, b"a")],
        ": file \"a/a\" cannot be below \"a\", which is a file",
    );
    let commit = repository.commit_raw_tree(&[("100644", &blob, b"a/b")]);
    assert!(matches!(read(&remotes, &repository.url(), &commit, ""), Err(Error::Damaged { .. })));
    check(&[("100644", &blob, b"caf\xe9")], " has a file name that is not UTF-8: \"caf\u{fffd}\"");
}

/// A tree that holds one tree ten times, which holds another ten times, and so on: few bytes, ten thousand million folders.
#[test]
fn folders_count_too() {
    let repository = Repository::with(&[("a", "1")]);
    let home = tempfile::tempdir().unwrap();
    let limits = lanai_types::Limits { max_files: 1000, ..lanai_types::Limits::DEFAULT };
    let remotes =
        Remotes::new(lanai_repository::Options { package_limits: limits, ..options(home.path(), &[]) });
    let mut tree = git(repository.path(), &["mktree"], b"");
    for _ in 0..10 {
        let lines =
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(|number| format!("040000 tree {tree}\t{number}\n")).concat();
        tree = git(repository.path(), &["mktree"], lines.as_bytes());
    }
    let commit = repository.git(&["commit-tree", &tree, "-m", "bomb"]);
    let error = read(&remotes, &repository.url(), &commit, "").unwrap_err();
    assert!(
        error.to_string().ends_with("the package has more than the 1000 files that are allowed"),
        "{error}"
    );
}

#[test]
fn the_limits_of_packages_hold_while_reading() {
    let repository = Repository::with(&[("a.yaml", "12345"), ("d/b", "123")]);
    let home = tempfile::tempdir().unwrap();
    let commit = repository.git(&["rev-parse", "HEAD"]);
    let check = |change: &dyn Fn(&mut lanai_types::Limits), expected: Option<&str>| {
        let mut options = options(home.path(), &[]);
        change(&mut options.package_limits);
        let result = read(&Remotes::new(options), &repository.url(), &commit, "");
        let found = result.map(|_| ()).map_err(|error| error.to_string());
        match expected {
            None => assert_eq!(found, Ok(())),
            Some(end) => assert!(found.clone().unwrap_err().ends_with(end), "{found:?}"),
        }
    };
    check(&|limits| limits.max_document = ByteSize::bytes(5), None);
    check(
        &|limits| limits.max_document = ByteSize::bytes(4),
        Some("file \"a.yaml\" has 5 bytes, more than the 4 B that are allowed"),
    );
    check(&|limits| limits.max_opaque = ByteSize::bytes(3), None);
    check(
        &|limits| limits.max_opaque = ByteSize::bytes(2),
        Some("file \"d/b\" has 3 bytes, more than the 2 B that are allowed"),
    );
    check(&|limits| limits.max_stream = ByteSize::bytes(8), None);
    check(
        &|limits| limits.max_stream = ByteSize::bytes(7),
        Some("the package has more than the 7 B that are allowed"),
    );
    check(&|limits| limits.max_files = 2, None);
    check(&|limits| limits.max_files = 1, Some("the package has more than the 1 files that are allowed"));
    check(&|limits| limits.path.max_depth = 2, None);
    check(
        &|limits| limits.path.max_depth = 1,
        Some("path \"d/b\" has more than the 1 segments that are allowed"),
    );
}

#[test]
fn a_damaged_object_is_noticed() {
    let repository = Repository::with(&[("a", "the content of a file")]);
    let commit = repository.git(&["rev-parse", "HEAD"]);
    let blob = repository.git(&["rev-parse", "HEAD:a"]);
    let other = repository.blob("something else");
    let object = |id: &str| repository.path().join(format!(".git/objects/{}/{}", &id[..2], &id[2..]));
    std::fs::remove_file(object(&blob)).unwrap();
    std::fs::copy(object(&other), object(&blob)).unwrap();
    let home = tempfile::tempdir().unwrap();
    let error = read(&remotes(home.path(), &[]), &repository.url(), &commit, "").unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
}

#[test]
fn several_folders_are_read_in_one_call() {
    let repository = Repository::with(&[("a/f", "1"), ("b/f", "2")]);
    let first = repository.git(&["rev-parse", "HEAD"]);
    let second = repository.commit(&[("a/f", "3")]);
    let home = tempfile::tempdir().unwrap();
    let want = |commit: &str, at: &str| Want { commit: commit.parse().unwrap(), folder: folder(at) };
    let wants = [want(&second, "a"), want(&first, "a"), want(&first, "b")];
    let contents =
        remotes(home.path(), &[]).packages(&repository.url().parse().unwrap(), &wants, &Silent).unwrap();
    let found: Vec<_> = contents.iter().flat_map(listing).collect();
    assert_eq!(found, ["100644 f 3", "100644 f 1", "100644 f 2"]);
}

#[test]
fn refs_are_those_of_git() {
    let repository = Repository::with(&[("a", "1")]);
    repository.git(&["tag", "-a", "v1", "-m", "annotated"]);
    repository.git(&["tag", "blob", "HEAD:a"]);
    repository.git(&["branch", "x/y"]);
    repository.git(&["pack-refs", "--all"]);
    repository.commit(&[("a", "2")]);
    let home = tempfile::tempdir().unwrap();
    let found = remotes(home.path(), &[]).refs(&repository.url().parse().unwrap(), &Silent).unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|found| format!("{} {}{}", found.commit, found.name, if found.is_default { " *" } else { "" }))
        .collect();
    let id = |name: &str| repository.git(&["rev-parse", &format!("{name}^{{commit}}")]);
    assert_eq!(
        found,
        [
            format!("{} refs/heads/main *", id("main")),
            format!("{} refs/heads/x/y", id("x/y")),
            format!("{} refs/tags/v1", id("v1")),
        ]
    );
}

#[test]
fn a_large_file_of_two_versions_is_held_once() {
    let large = "x".repeat(64 * 1024);
    let repository =
        Repository::with(&[("a/large", large.as_str()), ("a/small", &large[1..]), ("a/other", "1")]);
    let first = repository.git(&["rev-parse", "HEAD"]);
    repository.write("a/other", "2");
    repository.git(&["commit", "--quiet", "--all", "-m", "two"]);
    let second = repository.git(&["rev-parse", "HEAD"]);
    let home = tempfile::tempdir().unwrap();
    let wants = [&first, &second].map(|commit| Want { commit: commit.parse().unwrap(), folder: folder("a") });
    let read =
        remotes(home.path(), &[]).packages(&repository.url().parse().unwrap(), &wants, &Silent).unwrap();
    let places = |path: &str| {
        let path = path.parse().unwrap();
        read.iter().map(|content| content.package.get(&path).unwrap().content().as_ptr()).collect::<Vec<_>>()
    };
    let [one, other] = places("large")[..] else { panic!("two were read") };
    assert_eq!(one, other);
    let [one, other] = places("small")[..] else { panic!("two were read") };
    assert_ne!(one, other, "on the other side of the edge");
    assert_ne!(listing(&read[0]), listing(&read[1]));
}
