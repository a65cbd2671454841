//! Names that providers accept.

/// The longest name.
const LONGEST: usize = 64;

/// A name that every provider accepts and that none of `taken` is, as like to `name` as can be.
pub(super) fn legal(name: &str, taken: &[String]) -> String {
    let plain = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => character,
        _ => '_',
    };
    let mut legal: String = name.chars().map(plain).collect();
    if !legal.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        legal.insert(0, '_');
    }
    legal.truncate(LONGEST);
    let is_free = |name: &String| !taken.contains(name);
    if is_free(&legal) {
        return legal;
    }
    let numbered = |number: usize| {
        let end = format!("_{number}");
        format!("{}{end}", &legal[..legal.len().min(LONGEST - end.len())])
    };
    (2..).map(numbered).find(is_free).unwrap_or(legal)
}
