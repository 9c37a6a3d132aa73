//! Which image a pipeline means.

use std::cmp::Ordering;

use lanai_types::quote::Quoted;

/// Which tags an image has.
pub trait Tags: Sync {
    /// The tags of an image without a tag; empty when nobody knows.
    fn of(&self, image: &str) -> Vec<String>;
}

/// Nobody knows any tags.
impl Tags for () {
    fn of(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

/// Why it cannot be said which image is meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// No tag fits the range of versions. The text is kpt's.
    #[error("no tag could be found matching the version constraint {}", Quoted(.0))]
    NoTag(String),
    /// The tag is none. The text is kpt's.
    #[error(
        "`function.tag` {} must be a valid image tag: must start with an alphanumeric character or underscore, followed by at most \
         127 alphanumeric characters, underscores, periods, or dashes", Quoted(.0)
    )]
    BadTag(String),
}

/// The image that a pipeline means: with the prefix where it has no registry, with a tag where it has none.
///
/// `tag` is stronger than the tag and digest in `image`. It is a tag, or a range of versions (`~1.2`, `^1`, `1.x`,
/// `>=1.0 <2.0`, alternatives with `||`), of which the highest tag is taken.
///
/// # Errors
/// A tag that cannot be one; a range that nothing fits.
pub fn resolve(image: &str, tag: &str, prefix: &str, tags: &dyn Tags) -> Result<String, ImageError> {
    let prefix = prefix.trim_end_matches('/');
    let image =
        if image.contains('/') || prefix.is_empty() { image.to_owned() } else { format!("{prefix}/{image}") };
    if tag.is_empty() {
        return Ok(if has_version(&image) { image } else { format!("{image}:latest") });
    }
    let bare = without_version(&image);
    if Version::parse(tag).is_some() {
        return Ok(format!("{bare}:{tag}"));
    }
    if let Some(range) = Range::parse(tag) {
        let known = tags.of(bare);
        let versions = known.iter().filter_map(|tag| Some((Version::parse(tag)?, tag)));
        let fitting = versions.filter(|(version, _)| range.holds(version));
        let highest = fitting.max_by(|(one, _), (other, _)| one.cmp(other));
        return match highest {
            Some((_, tag)) => Ok(format!("{bare}:{tag}")),
            None => Err(ImageError::NoTag(tag.to_owned())),
        };
    }
    if is_tag(tag) { Ok(format!("{bare}:{tag}")) } else { Err(ImageError::BadTag(tag.to_owned())) }
}

/// Whether the image has a tag or a digest.
fn has_version(image: &str) -> bool {
    without_version(image) != image
}

/// The image without tag and digest.
fn without_version(image: &str) -> &str {
    let image = image.split('@').next().unwrap_or(image);
    match image.rfind(':') {
        Some(at) if !image[at..].contains('/') => &image[..at],
        _ => image,
    }
}

fn is_tag(text: &str) -> bool {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.len() <= 128
        && text.starts_with(is_word)
        && text.chars().all(|letter| is_word(letter) || matches!(letter, '.' | '-'))
}

/// A version with three numbers, with or without a `v`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Version {
    numbers: [u64; 3],
    /// What stands behind the dash; empty when nothing does.
    pre: String,
}

impl Version {
    /// Reads a whole version; `1.2` is none, it is a range.
    fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let text = text.split('+').next()?;
        let (numbers, pre) = text.split_once('-').unwrap_or((text, ""));
        let mut parts = numbers.split('.').map(|part| part.parse::<u64>().ok());
        let numbers = [parts.next()??, parts.next()??, parts.next()??];
        parts.next().is_none().then(|| Self { numbers, pre: pre.to_owned() })
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let pre = |version: &Self| (version.pre.is_empty(), version.pre.clone());
        self.numbers.cmp(&other.numbers).then_with(|| {
            let ((one_final, one), (other_final, other)) = (pre(self), pre(other));
            one_final.cmp(&other_final).then_with(|| compare_pre(&one, &other))
        })
    }
}

/// Compares what stands behind the dash, part by part, numbers as numbers.
fn compare_pre(one: &str, other: &str) -> Ordering {
    let mut parts = one.split('.').zip(other.split('.'));
    let differing = parts.find_map(|(one, other)| {
        let order = match (one.parse::<u64>(), other.parse::<u64>()) {
            (Ok(one), Ok(other)) => one.cmp(&other),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => one.cmp(other),
        };
        (order != Ordering::Equal).then_some(order)
    });
    differing.unwrap_or_else(|| one.split('.').count().cmp(&other.split('.').count()))
}

/// A range of versions: alternatives of bounds that must all hold.
#[derive(Clone, Debug)]
struct Range(Vec<Vec<Bound>>);

/// From a version on, up to a version that is not in it any more.
#[derive(Clone, Debug)]
struct Bound {
    from: [u64; 3],
    /// None: no end.
    to: Option<[u64; 3]>,
    inverted: bool,
}

impl Range {
    fn parse(text: &str) -> Option<Self> {
        let alternatives = text.split("||").map(Self::parse_all);
        alternatives.collect::<Option<Vec<_>>>().map(Self)
    }

    fn parse_all(text: &str) -> Option<Vec<Bound>> {
        if let Some((low, high)) = text.split_once(" - ") {
            return Some(vec![
                Bound::parse(&format!(">={}", low.trim()))?,
                Bound::parse(&format!("<={}", high.trim()))?,
            ]);
        }
        // A blank between an operator and its version belongs to them.
        let mut joined = String::new();
        for letter in text.replace(',', " ").chars() {
            let behind_operator = joined.ends_with(['<', '>', '=', '!', '~', '^']);
            if !(letter == ' ' && behind_operator) {
                joined.push(letter);
            }
        }
        let bounds: Vec<Bound> = joined.split_whitespace().map(Bound::parse).collect::<Option<_>>()?;
        (!bounds.is_empty()).then_some(bounds)
    }

    fn holds(&self, version: &Version) -> bool {
        // Versions before a release are not meant by a range.
        version.pre.is_empty()
            && self.0.iter().any(|all| all.iter().all(|bound| bound.holds(version.numbers)))
    }
}

impl Bound {
    fn parse(text: &str) -> Option<Self> {
        let at = text.find(|letter: char| !matches!(letter, '<' | '>' | '=' | '!' | '~' | '^'))?;
        let (operator, version) = text.split_at(at);
        let version = version.strip_prefix('v').unwrap_or(version);
        let mut numbers = Vec::new();
        for part in version.split('.') {
            if matches!(part, "x" | "X" | "*") {
                break;
            }
            numbers.push(part.parse::<u64>().ok()?);
        }
        if numbers.len() > 3 || version.split('.').count() > 3 {
            return None;
        }
        let number = |index: usize| numbers.get(index).copied().unwrap_or(0);
        let from = [number(0), number(1), number(2)];
        // The first version that is no longer of the series that the numbers name.
        let after = |length: usize| {
            (0..length.min(3)).rev().find_map(|at| {
                let mut next = [0; 3];
                next[..at].copy_from_slice(&from[..at]);
                next[at] = from[at].checked_add(1)?;
                Some(next)
            })
        };
        let series = after(numbers.len());
        let between = |from, to| Self { from, to, inverted: false };
        Some(match operator {
            "" | "=" | "==" => between(from, series),
            "!=" => Self { from, to: series, inverted: true },
            ">=" | "=>" => between(from, None),
            ">" => between(series?, None),
            "<" => between([0; 3], Some(from)),
            "<=" | "=<" => between([0; 3], series),
            "~" | "~>" => between(from, after(numbers.len().min(2))),
            "^" => between(
                from,
                after(
                    1 + from
                        .iter()
                        .take(numbers.len().saturating_sub(1))
                        .take_while(|n| **n == 0)
                        .count()
                        .min(2),
                )
                .filter(|_| !numbers.is_empty()),
            ),
            _ => return None,
        })
    }

    fn holds(&self, version: [u64; 3]) -> bool {
        let inside = self.from <= version && self.to.is_none_or(|to| version < to);
        inside != self.inverted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_numbers_have_a_series_too() {
        let most = u64::MAX;
        let holds = |range: &str, version| Bound::parse(range).unwrap().holds(version);
        assert!(holds(&format!("^{most}"), [most, most, most]));
        assert!(holds(&format!("1.{most}"), [1, most, most]) && !holds(&format!("1.{most}"), [2, 0, 0]));
        assert!(holds(&format!("1.2.{most}"), [1, 2, most]) && !holds(&format!("1.2.{most}"), [1, 3, 0]));
    }

    struct Known(&'static [&'static str]);

    impl Tags for Known {
        fn of(&self, _: &str) -> Vec<String> {
            self.0.iter().map(|tag| (*tag).to_owned()).collect()
        }
    }

    const TAGS: Known = Known(&[
        "latest",
        "v0.1.0",
        "v0.1.9",
        "v0.1.10",
        "v0.2.0",
        "v1.0.0-rc.1",
        "v1.0.0",
        "v1.2.3",
        "v1.10.0",
        "v2.0.0",
        "unstable",
    ]);

    fn tag(range: &str) -> String {
        match resolve("fn", range, "reg.example/x", &TAGS) {
            Ok(image) => image.strip_prefix("reg.example/x/fn:").unwrap().to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn ranges_take_the_highest_that_fits() {
        for (range, found) in [
            ("~0.1", "v0.1.10"),
            ("~0.1.5", "v0.1.10"),
            ("^0.1", "v0.1.10"),
            ("^1.0", "v1.10.0"),
            ("^1", "v1.10.0"),
            ("^0", "v0.2.0"),
            ("1.x", "v1.10.0"),
            ("v1.2.*", "v1.2.3"),
            ("*", "v2.0.0"),
            (">=1.0 <1.5", "v1.2.3"),
            (">= 1.0, < 1.5", "v1.2.3"),
            ("0.1 - 0.2", "v0.2.0"),
            ("~0.1 || ~1.2", "v1.2.3"),
            ("<1 !=0.2", "v0.1.10"),
            (">2", "no tag could be found matching the version constraint \">2\""),
            ("0.2", "v0.2.0"),
        ] {
            assert_eq!(tag(range), found, "{range}");
        }
    }

    #[test]
    fn names_get_a_prefix_and_a_tag() {
        for (image, with, whole) in [
            ("fn", "", "reg.example/x/fn:latest"),
            ("fn:v1", "", "reg.example/x/fn:v1"),
            ("a/fn", "", "a/fn:latest"),
            ("host:5000/fn", "", "host:5000/fn:latest"),
            ("a/fn@sha256:00", "", "a/fn@sha256:00"),
            ("a/fn:v1@sha256:00", "v2.0.0", "a/fn:v2.0.0"),
            ("host:5000/fn:v1", "unstable", "host:5000/fn:unstable"),
        ] {
            assert_eq!(resolve(image, with, "reg.example/x/", &TAGS).unwrap(), whole);
        }
        assert!(matches!(resolve("fn", "no tag!", "", &TAGS), Err(ImageError::BadTag(_))));
        assert_eq!(resolve("fn", "", "", &TAGS).unwrap(), "fn:latest");
    }

    #[test]
    fn versions_before_a_release_are_below_it() {
        let version = |text| Version::parse(text).unwrap();
        assert!(version("1.0.0-rc.2") < version("1.0.0-rc.10"));
        assert!(version("1.0.0-rc.10") < version("v1.0.0"));
        assert!(version("1.0.0-1") < version("1.0.0-a"));
    }
}
