//! Repositories that somebody made to do harm: a corpus that is made here, one repository for each idea.

use std::fs;
use std::path::{Path, PathBuf};

use lanai_repository::Silent;
use lanai_repository::packages::Snapshot;

use super::{Kind, World, open, snapshot};
use crate::repository::git;

/// What becomes of the package `bad`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// It is a revision, and reading it is refused with an error.
    Refused,
    /// It is a revision, and what is odd about it is data.
    Data,
    /// It is no revision.
    Nothing,
    /// The repository as a whole is refused.
    Whole,
}

/// A repository with a good package, to which a bad one is added.
struct Corpus<'a> {
    folder: &'a Path,
}

type Raw<'a> = (&'a str, String, Vec<u8>);

impl Corpus<'_> {
    fn object(&self, kind: &str, bytes: &[u8]) -> String {
        git(self.folder, &["hash-object", "-w", "--literally", "-t", kind, "--stdin"], bytes)
    }

    fn blob(&self, text: &str) -> String {
        self.object("blob", text.as_bytes())
    }

    fn tree(&self, entries: &[Raw<'_>]) -> String {
        let mut bytes = Vec::new();
        for (mode, id, name) in entries {
            bytes.extend_from_slice(mode.as_bytes());
            bytes.push(b' ');
            bytes.extend_from_slice(name);
            bytes.push(0);
            bytes.extend(id.as_bytes().chunks_exact(2).map(|pair| {
                u8::from_str_radix(std::str::from_utf8(pair).expect("digits"), 16).expect("digits")
            }));
        }
        self.object("tree", &bytes)
    }

    fn kptfile(&self) -> Raw<'static> {
        let id = self.blob("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: bad\n");
        ("100644", id, b"Kptfile".to_vec())
    }

    fn commit(&self, tree: &str, message: &str) -> String {
        let who = "A <a@b> 1700000000 +0000";
        self.object("commit", format!("tree {tree}\nauthor {who}\ncommitter {who}\n\n{message}").as_bytes())
    }

    /// The folder `bad` with these entries, in a commit, with a tag.
    fn package(&self, entries: &[Raw<'_>]) {
        let folder = self.tree(entries);
        let root = self.tree(&[("40000", folder, b"bad".to_vec())]);
        self.tag(&self.commit(&root, "bad"));
    }

    /// The Kptfile and one more entry.
    fn with(&self, mode: &str, name: &[u8], text: &str) {
        self.package(&[self.kptfile(), (mode, self.blob(text), name.to_vec())]);
    }

    fn tag(&self, id: &str) {
        self.reference("refs/tags/bad/v1", id);
    }

    fn reference(&self, name: &str, id: &str) {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, format!("{id}\n")).expect("a ref");
    }

    fn good(&self) -> String {
        git(self.folder, &["rev-parse", "refs/tags/good/v1"], b"")
    }
}

type Case = (&'static str, Fate, Box<dyn Fn(&Corpus<'_>)>);

fn named(what: &'static str, fate: Fate, name: &'static [u8]) -> Case {
    (what, fate, Box::new(move |corpus| corpus.with("100644", name, "x")))
}

fn case(what: &'static str, fate: Fate, make: impl Fn(&Corpus<'_>) + 'static) -> Case {
    (what, fate, Box::new(make))
}

fn names() -> Vec<Case> {
    use Fate::{Data, Refused};
    vec![
        named("parent", Refused, b".."),
        named("self", Refused, b"."),
        named("dot git", Refused, b".git"),
        named("dot git, large", Refused, b".GIT"),
        named("dot git, mixed", Refused, b".gIt"),
        named("dot git, short name of Windows", Refused, b"git~1"),
        named("dot git, dot behind", Refused, b".git."),
        named("dot git, blank behind", Refused, b".git "),
        named("dot git, stream of Windows", Refused, b".git::$INDEX_ALLOCATION"),
        named("dot git, invisible character", Refused, ".g\u{200c}it".as_bytes()),
        named("a slash", Refused, b"a/b"),
        named("a way up", Refused, b"../../escaped"),
        named("an absolute path", Refused, b"/escaped"),
        named("no name", Refused, b""),
        named("no UTF-8", Refused, b"\xff\xfe"),
        named("a line end", Refused, b"a\nb"),
        named("an escape", Refused, b"\x1b[2J"),
        named("an option", Data, b"--upload-pack=x"),
        named("a long name", Refused, &[b'a'; 300]),
        case("a backslash", Refused, |corpus| corpus.with("100644", b"..\\x", "x")),
    ]
}

fn entries() -> Vec<Case> {
    use Fate::{Data, Nothing, Refused};
    vec![
        case("a name twice", Refused, |corpus| {
            let one = ("100644", corpus.blob("1"), b"x".to_vec());
            let two = ("100644", corpus.blob("2"), b"x".to_vec());
            corpus.package(&[corpus.kptfile(), one, two]);
        }),
        case("a file and a folder of one name", Refused, |corpus| {
            let folder = corpus.tree(&[("100644", corpus.blob("2"), b"y".to_vec())]);
            corpus.package(&[
                corpus.kptfile(),
                ("100644", corpus.blob("1"), b"x".to_vec()),
                ("40000", folder, b"x".to_vec()),
            ]);
        }),
        case("a link out", Data, |corpus| corpus.with("120000", b"link", "/etc/passwd")),
        case("a link up", Data, |corpus| corpus.with("120000", b"link", "../../../../etc")),
        case("a link with a folder below", Refused, |corpus| {
            let link = ("120000", corpus.blob("/tmp"), b"x".to_vec());
            let folder = corpus.tree(&[("100644", corpus.blob("2"), b"y".to_vec())]);
            corpus.package(&[corpus.kptfile(), link, ("40000", folder, b"x".to_vec())]);
        }),
        case("a submodule", Data, |corpus| {
            let id = "1".repeat(40);
            corpus.package(&[corpus.kptfile(), ("160000", id, b"sub".to_vec())]);
        }),
        case("a folder that is a file", Refused, |corpus| {
            corpus.package(&[corpus.kptfile(), ("40000", corpus.blob("1"), b"x".to_vec())]);
        }),
        case("a file that is a folder", Refused, |corpus| {
            let folder = corpus.tree(&[]);
            corpus.package(&[corpus.kptfile(), ("100644", folder, b"x".to_vec())]);
        }),
        case("a Kptfile that is a link", Nothing, |corpus| {
            corpus.package(&[("120000", corpus.blob("/etc/passwd"), b"Kptfile".to_vec())]);
        }),
        case("a Kptfile that is a folder", Nothing, |corpus| {
            let folder = corpus.tree(&[]);
            corpus.package(&[("40000", folder, b"Kptfile".to_vec())]);
        }),
        case("a Kptfile that is no YAML", Data, |corpus| {
            corpus.package(&[("100644", corpus.blob("a: [\n"), b"Kptfile".to_vec())]);
        }),
        case("a Kptfile that is no text", Data, |corpus| {
            let id = corpus.object("blob", b"\xff\xfe\0");
            corpus.package(&[("100644", id, b"Kptfile".to_vec())]);
        }),
        case("a Kptfile that grows", Data, |corpus| {
            let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
            for level in 1..12 {
                let before = format!("*a{}", level - 1);
                let items = [before.as_str(); 9].join(", ");
                text.extend([&format!("a{level}: &a{level} ["), items.as_str(), "]\n"]);
            }
            corpus.package(&[("100644", corpus.blob(&text), b"Kptfile".to_vec())]);
        }),
        case("a Kptfile of many bytes", Refused, |corpus| {
            let id = corpus.object("blob", &vec![b'#'; 12 * 1024 * 1024]);
            corpus.package(&[("100644", id, b"Kptfile".to_vec())]);
        }),
        case("folders within folders", Refused, |corpus| {
            let mut tree = corpus.tree(&[("100644", corpus.blob("1"), b"x".to_vec())]);
            for _ in 0..64 {
                tree = corpus.tree(&[("40000", tree, b"d".to_vec())]);
            }
            corpus.package(&[corpus.kptfile(), ("40000", tree, b"d".to_vec())]);
        }),
        case("a few folders that unfold into billions", Refused, |corpus| {
            let mut tree = corpus.tree(&[("100644", corpus.blob("1"), b"x".to_vec())]);
            for _ in 0..10 {
                let entries: Vec<_> = (b'a'..=b'j').map(|name| ("40000", tree.clone(), vec![name])).collect();
                tree = corpus.tree(&entries);
            }
            corpus.package(&[corpus.kptfile(), ("40000", tree, b"d".to_vec())]);
        }),
        case("a package that is a file", Nothing, |corpus| {
            let root = corpus.tree(&[("40000", corpus.blob("1"), b"bad".to_vec())]);
            corpus.tag(&corpus.commit(&root, "bad"));
        }),
        case("a package that is no folder at all", Nothing, |corpus| {
            let folder = corpus.object("tree", b"100644 short\0of an id");
            let root = corpus.tree(&[("40000", folder, b"bad".to_vec())]);
            corpus.tag(&corpus.commit(&root, "bad"));
        }),
        case("a Kptfile that says it is a file, and is a folder", Nothing, |corpus| {
            corpus.package(&[("100644", corpus.tree(&[]), b"Kptfile".to_vec())]);
        }),
        case("a branch with folders that are none", Nothing, |corpus| {
            let good = git(corpus.folder, &["rev-parse", "main^{tree}:good"], b"");
            let root = corpus
                .tree(&[("40000", corpus.blob("1"), b"bad".to_vec()), ("40000", good, b"good".to_vec())]);
            corpus.reference("refs/heads/main", &corpus.commit(&root, "bad"));
        }),
        case("a mode that nobody knows", Data, |corpus| corpus.with("100666", b"x", "x")),
    ]
}

fn history() -> Vec<Case> {
    use Fate::{Data, Nothing, Whole};
    let plain = |corpus: &Corpus<'_>| {
        let folder = corpus.tree(&[corpus.kptfile()]);
        corpus.tree(&[("40000", folder, b"bad".to_vec())])
    };
    vec![
        case("a tag of a file", Nothing, |corpus| corpus.tag(&corpus.blob("x"))),
        case("a tag of a folder", Nothing, |corpus| corpus.tag(&corpus.tree(&[]))),
        case("lines kpt that are no JSON", Data, move |corpus| {
            corpus.tag(&corpus.commit(&plain(corpus), "x\n\nkpt:{\nkpt:\nkpt:[[[[\nkpt:null\n"));
        }),
        case("lines kpt that name others", Data, move |corpus| {
            let kpt = "kpt:{\"package\":\"good\",\"workspaceName\":\"../../x\",\"revision\":\"99999999999999999999\"}\n";
            corpus.tag(&corpus.commit(&plain(corpus), &format!("x\n\n{kpt}")));
        }),
        case("a workspace that is none", Nothing, move |corpus| {
            let kpt = "kpt:{\"package\":\"bad\",\"workspaceName\":\"../../x\",\"revision\":\"1\"}\n";
            corpus.tag(&corpus.commit(&plain(corpus), &format!("x\n\n{kpt}")));
        }),
        case("lines kpt nested deep", Data, move |corpus| {
            let kpt = format!("kpt:{{\"task\":{}{}}}\n", "[".repeat(100_000), "]".repeat(100_000));
            corpus.tag(&corpus.commit(&plain(corpus), &format!("x\n\n{kpt}")));
        }),
        case("an author who is two", Data, move |corpus| {
            let text = format!("tree {}\nauthor A <a> 1 +0000 <b> 2\ncommitter\n\nx", plain(corpus));
            corpus.tag(&corpus.object("commit", text.as_bytes()));
        }),
        case("a time beyond all times", Data, move |corpus| {
            let text = format!(
                "tree {}\nauthor A <a> 99999999999999999999 +0000\ncommitter A <a> 1 +0000\n\nx",
                plain(corpus)
            );
            corpus.tag(&corpus.object("commit", text.as_bytes()));
        }),
        case("a draft of no package", Nothing, |corpus| {
            corpus.reference("refs/heads/drafts/BAD_ONE/w", &corpus.good());
        }),
        case("a draft with an odd workspace", Nothing, |corpus| {
            corpus.reference("refs/heads/drafts/good/W_W", &corpus.good());
        }),
        case("a name that is very long", Nothing, |corpus| {
            corpus.reference(&format!("refs/heads/drafts/{}/w", "a".repeat(200)), &corpus.good());
        }),
        case("a ref that no terminal should show", Nothing, |corpus| {
            corpus.reference("refs/heads/drafts/\u{202e}evil/w", &corpus.good());
        }),
        case("a tag that leads nowhere", Whole, |corpus| corpus.tag(&"1".repeat(40))),
        case("a commit without a parent that it names", Whole, move |corpus| {
            let text = format!(
                "tree {}\nparent {}\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nx",
                plain(corpus),
                "1".repeat(40)
            );
            corpus.tag(&corpus.object("commit", text.as_bytes()));
        }),
    ]
}

fn check(world: &World, template: &Path, number: usize, (what, fate, make): &Case, wrong: &mut Vec<String>) {
    let folder = template.with_file_name(format!("case-{number}.git"));
    copy(template, &folder);
    make(&Corpus { folder: &folder });
    let address = world.server.as_ref().expect("a server").url(&format!("case-{number}.git"));
    // Over a connection a part of them, and all of them in `make soak`: git's side takes long.
    let is_wanted = number.is_multiple_of(4) || std::env::var_os("LANAI_SOAK").is_some();
    let near = folder.to_str().expect("a plain name").to_owned();
    for address in [Some(address).filter(|_| is_wanted), Some(near)].into_iter().flatten() {
        let is_far = address.starts_with("http");
        let repository = open(&world.all, &address, "ns/git", "");
        let seen = repository.poll(&Silent).and_then(|refs| Ok((repository.facts(&refs, &Silent)?, refs)));
        let (facts, refs) = match seen {
            Ok(seen) => seen,
            Err(error) => {
                // Git's own server gives up on some of them before we see anything.
                let is_gits = is_far && error.to_string().contains("corruption on the remote side");
                if *fate != Fate::Whole && !is_gits {
                    wrong.push(format!("{what}, {address}: {error}"));
                }
                continue;
            }
        };
        // Git leaves refs out that lead nowhere, so they may be no trouble at all.
        if *fate == Fate::Whole {
            assert!(!is_far || find(&facts, "bad").is_none(), "{what}");
            continue;
        }
        let Some(good) = find(&facts, "good") else {
            wrong.push(format!("{what}, {address}: the good one is not there"));
            continue;
        };
        let read =
            repository.read(&refs, facts.revisions[good].commit, &facts.revisions[good].package, &Silent);
        assert!(read.is_ok(), "{what}: {read:?}");
        let bad = find(&facts, "bad");
        let found = match bad {
            None => Fate::Nothing,
            Some(bad) => {
                let bad = &facts.revisions[bad];
                match repository.read(&refs, bad.commit, &bad.package, &Silent) {
                    Ok(_) => Fate::Data,
                    Err(_) => Fate::Refused,
                }
            }
        };
        if found != *fate {
            wrong.push(format!("{what}, {address}: {found:?} and not {fate:?}"));
        }
    }
}

fn find(facts: &Snapshot, package: &str) -> Option<usize> {
    facts.revisions.iter().position(|found| found.package.as_str() == package && found.revision.get() == 1)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a file");
        }
    }
}

/// All files outside of the cache and of what is served.
fn around(world: &World) -> Vec<PathBuf> {
    let mut all: Vec<_> = fs::read_dir(world.home.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    all.sort();
    all
}

#[test]
fn hostile_repositories_harm_nobody() {
    let world = World::new(Kind::Http);
    let repository = world.open();
    super::write(&repository, lanai_repository::packages::Operation::CreateBranch).unwrap();
    super::write(&repository, super::publish_content("good", "w", "1")).unwrap();
    snapshot(&repository);
    let before = around(&world);
    let cases: Vec<_> = names().into_iter().chain(entries()).chain(history()).collect();
    assert!(cases.len() >= 40, "{}", cases.len());
    let mut wrong = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        check(&world, &world.folder, number, case, &mut wrong);
    }
    assert_eq!(wrong, [""; 0]);
    assert_eq!(around(&world), before, "nothing is outside of the mirrors");
    assert!(!Path::new("/escaped").exists());
}

/// What is wrong at the remote is fetched again once, and not at each look.
#[test]
fn a_fresh_copy_that_is_no_better_is_kept() {
    let world = World::new(Kind::Near);
    let repository = world.open();
    super::write(&repository, lanai_repository::packages::Operation::CreateBranch).unwrap();
    super::write(&repository, super::publish_content("good", "w", "1")).unwrap();
    let commit = world.git(&["rev-parse", "good/v1"]).parse().unwrap();
    let blob = world.git(&["rev-parse", "good/v1:good/Kptfile"]);
    let path = world.folder.join("objects").join(&blob[..2]).join(&blob[2..]);
    let refs = repository.poll(&Silent).unwrap();
    let read = || repository.read(&refs, commit, &"good".parse().unwrap(), &Silent);
    read().unwrap();
    assert!(path.exists(), "it is a file of its own");
    let aside = world.home.path().join("aside");
    fs::rename(&path, &aside).unwrap();
    let copy = || {
        let mut all = fs::read_dir(world.home.path().join("cache/full/git")).unwrap().flatten();
        let folder = all.find(|entry| entry.path().is_dir()).unwrap();
        std::os::unix::fs::MetadataExt::ino(&folder.metadata().unwrap())
    };
    let mark = copy_mark(&world);
    assert!(matches!(read(), Err(lanai_repository::Error::Damaged { .. })));
    assert!(!mark.exists(), "it was made anew");
    let (mark, number) = (copy_mark(&world), copy());
    for _ in 0..3 {
        assert!(matches!(read(), Err(lanai_repository::Error::Damaged { .. })));
    }
    assert!(mark.exists() && copy() == number, "and then kept");
    fs::rename(&aside, &path).unwrap();
    read().unwrap();
}

/// A file in the copy, which goes with it.
fn copy_mark(world: &World) -> PathBuf {
    let mut all = fs::read_dir(world.home.path().join("cache/full/git")).expect("a folder").flatten();
    let folder = all.find(|entry| entry.path().is_dir()).expect("a copy").path();
    fs::write(folder.join("mark"), "").expect("a file");
    folder.join("mark")
}

/// What a history takes in memory is bounded, whatever its commits say.
#[test]
fn a_history_may_reach_its_limit_and_no_more() {
    let world = World::new(Kind::Near);
    let repository = world.open();
    super::write(&repository, lanai_repository::packages::Operation::CreateBranch).unwrap();
    super::write(&repository, super::publish_content("good", "w", "1")).unwrap();
    let corpus = Corpus { folder: &world.folder };
    let root = world.git(&["rev-parse", "good/v1^{tree}"]);
    let kpt = format!("kpt:{{\"package\":\"{}\"}}\n", "a".repeat(100_000));
    corpus.tag(&corpus.commit(&root, &format!("x\n\n{kpt}")));
    let with = |bytes: u64| {
        let limits = lanai_repository::Limits {
            max_history: lanai_types::ByteSize::bytes(bytes),
            ..lanai_repository::Limits::DEFAULT
        };
        let options = lanai_repository::Options { limits, ..crate::options(world.home.path(), &[]) };
        let settings = lanai_repository::packages::Settings::new(world.home.path().join("own"), 7);
        let (secrets, journal) = (world.secrets.clone(), std::sync::Arc::new(super::NoJournal));
        let all = lanai_repository::packages::Repositories::new(options, settings, secrets, journal);
        let repository = open(&std::sync::Arc::new(all), &world.address, "ns/git", "");
        let refs = repository.poll(&Silent).unwrap();
        repository.facts(&refs, &Silent)
    };
    let (mut below, mut enough) = (100_000, 200_000);
    with(enough).unwrap();
    while enough - below > 1 {
        let middle = u64::midpoint(below, enough);
        if with(middle).is_ok() { enough = middle } else { below = middle }
    }
    let error = with(below).unwrap_err();
    assert!(matches!(error, lanai_repository::Error::TooMuch { name: "max_history", .. }), "{error}");
    assert_eq!(with(enough).unwrap().revisions.len(), 2, "the tag of no package is none");
}
