//! Crash bundles: a program with which the optimiser failed, and how it failed, in one file.
//!
//! The file is the program with a head of comments, so that it is an input like any other.

use std::any::Any;
use std::cell::RefCell;
use std::panic;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::files::{Destination, Input};

/// How a head begins.
const FIRST: &str = "; a program with which tgsi-opt failed";

/// How a line of a head begins.
const LINES: [&str; 4] = ["; version: ", "; options: ", "; reason: ", "; input: "];

thread_local! {
    /// Where the last panic of the thread was.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Notes from now on where panics are.
pub(crate) fn watch() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let place = info.location().map(ToString::to_string);
        PLACE.with(|p| *p.borrow_mut() = place);
        before(info);
    }));
}

/// A panic that was caught, in one line.
pub(crate) fn reason(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    let mut out = format!("panic: {}", text.unwrap_or("without words"));
    if let Some(place) = PLACE.with(|p| p.borrow_mut().take()) {
        out.push_str(&format!(" ({place})"));
    }
    out
}

/// Writes a bundle, and tells where it is.
pub(crate) fn write(
    folder: &Path,
    input: &Input,
    text: &str,
    options: &str,
    reason: &str,
) -> Result<PathBuf> {
    let folder = Destination::Folder(folder.to_owned());
    let path = folder.path(input);
    let own = |p: &Path| p.canonicalize().ok();
    if own(&path).is_some() && own(&path) == own(&input.path) && !text.starts_with(FIRST) {
        bail!("{} is the input itself", path.display());
    }
    let values = [env!("CARGO_PKG_VERSION"), options, reason, &input.shown()];
    let mut out = format!("{FIRST}\n");
    for (name, value) in LINES.iter().zip(values) {
        // A comment is one line.
        out.push_str(name);
        out.push_str(&value.replace(['\n', '\r'], " "));
        out.push('\n');
    }
    out.push_str(without_head(text));
    folder.write(input, &out)?;
    Ok(path)
}

/// The program of a bundle.
fn without_head(text: &str) -> &str {
    if !text.starts_with(FIRST) {
        return text;
    }
    let mut rest = text;
    while rest.starts_with(FIRST) || LINES.iter().any(|l| rest.starts_with(l)) {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::without_head;

    #[test]
    fn heads_come_off() {
        let text =
            "; a program with which tgsi-opt failed\n; version: 1\n; reason: x\n; mine\nFRAG\n";
        assert_eq!(without_head(text), "; mine\nFRAG\n");
        assert_eq!(without_head("; version: 1\nFRAG\n"), "; version: 1\nFRAG\n");
    }
}
