//! How much is read: objects that are not needed are taken away, and nobody misses them.

use std::path::PathBuf;
use std::sync::Arc;

use lanai_repository::packages::{NoJournal, Operation, Repositories, Settings};
use lanai_repository::{Credentials, Silent};
use lanai_types::ByteSize;

use super::{Kind, World, lines, open, publish_content, save, snapshot, write};

/// A process that remembers no objects: what it wants again it must read again.
fn forgetful(world: &World) -> Arc<Repositories> {
    let home = world.home.path();
    let settings = Settings { max_cached: ByteSize::bytes(0), ..Settings::new(home.join("own"), 7) };
    let secrets: Arc<dyn Credentials> = world.secrets.clone();
    Arc::new(Repositories::new(crate::options(home, &[]), settings, secrets, Arc::new(NoJournal)))
}

/// Takes objects out of a repository while something is done; then they are there again.
fn without<T>(world: &World, names: &[&str], action: impl FnOnce() -> T) -> T {
    let file = |name: &&str| {
        let id = world.git(&["rev-parse", name]);
        world.folder.join("objects").join(&id[..2]).join(&id[2..])
    };
    let paths: Vec<PathBuf> = names.iter().map(file).collect();
    for path in &paths {
        std::fs::rename(path, path.with_extension("away")).expect("an object in a file of its own");
    }
    let done = action();
    for path in &paths {
        std::fs::rename(path.with_extension("away"), path).expect("the object");
    }
    done
}

/// Packages `p` and `q`, published, in files of their own for each object.
fn world() -> World {
    let world = World::new(Kind::Near);
    let repository = world.open();
    write(&repository, Operation::CreateBranch).expect("it works");
    write(&repository, publish_content("p", "w1", "1")).expect("it works");
    write(&repository, publish_content("q", "w1", "of q")).expect("it works");
    world
}

#[test]
fn reading_a_package_touches_its_folder_only() {
    let world = world();
    let repository = open(&forgetful(&world), &world.address, "ns/git", "");
    let (refs, seen) = snapshot(&repository);
    let found = seen.revisions.iter().find(|found| found.package.as_str() == "p").unwrap();
    let read = || repository.read(&refs, found.commit, &found.package, &Silent);
    // Of the other package, its folder and a file; of this one, its history.
    let content = without(&world, &["main:q", "main:q/config.yaml"], read).unwrap();
    assert_eq!(content.package.iter().count(), 5);
    without(&world, &["main:p/config.yaml"], read).expect_err("this one is needed");
}

#[test]
fn what_did_not_change_is_not_read_again() {
    let world = world();
    let repository = open(&forgetful(&world), &world.address, "ns/git", "");
    let before = ["p main -1 Published", "p w1 1 Published", "q main -1 Published", "q w1 1 Published"];
    assert_eq!(lines(&snapshot(&repository).1), before);
    let old = ["main~2", "p/v1^{tree}", "p/v1:p", "p/v1:p/Kptfile", "q/v1:q", "q/v1:q/config.yaml"];
    // The same refs need nothing at all, a new draft what is new in it.
    assert_eq!(without(&world, &old, || lines(&snapshot(&repository).1)), before);
    write(&world.open(), save("r", "w1", "of r", None)).unwrap();
    let (refs, after) = without(&world, &old, || {
        let refs = repository.poll(&Silent).unwrap();
        let seen = repository.facts(&refs, &Silent).unwrap();
        (refs, seen)
    });
    assert_eq!(lines(&after).len(), before.len() + 1, "{:?}", lines(&after));
    // Who knows nothing yet needs them.
    let fresh = open(&forgetful(&world), &world.address, "ns/git", "");
    without(&world, &["p/v1:p/Kptfile"], || fresh.facts(&refs, &Silent)).expect_err("it is read once");
    assert_eq!(fresh.facts(&fresh.poll(&Silent).unwrap(), &Silent).unwrap(), after);
}
