//! Where generated code finds the runtime.

use std::path::{Path as FilePath, PathBuf};

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Ident, Path};

const PACKAGE: &str = "tool-core";

/// The hidden module of the crate that `crate = …` names, or of the dependency on this package.
pub(crate) fn path(written: Option<&Path>) -> TokenStream {
    if let Some(path) = written {
        return quote!(#path::__private);
    }
    let name = dependency();
    let name = syn::parse_str::<Ident>(&name)
        .unwrap_or_else(|_| Ident::new("tool_core", Span::call_site()));
    quote!(::#name::__private)
}

/// The name that the crate's manifest gives the package.
fn dependency() -> String {
    std::env::var_os("CARGO_MANIFEST_DIR")
        .and_then(|folder| renamed(&PathBuf::from(folder)))
        .unwrap_or_else(|| PACKAGE.to_owned())
        .replace('-', "_")
}

fn renamed(folder: &FilePath) -> Option<String> {
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    let own = rename_in(&manifest, "dependencies");
    own.or_else(|| {
        let inherits = manifest.contains("workspace = true") || manifest.contains("workspace=true");
        let root = folder
            .ancestors()
            .skip(usize::from(!manifest.contains("[workspace]")));
        let workspace = root
            .filter_map(|parent| std::fs::read_to_string(parent.join("Cargo.toml")).ok())
            .find(|manifest| manifest.contains("[workspace"))?;
        let name = inherits.then(|| rename_in(&workspace, "workspace.dependencies"))??;
        mentions(&manifest, &name).then_some(name)
    })
}

fn mentions(manifest: &str, key: &str) -> bool {
    manifest.lines().any(|line| {
        let line = line.trim();
        let word = line
            .split(['.', '=', ' '])
            .next()
            .unwrap_or("")
            .trim_matches('"');
        word == key || line.trim_end_matches(']').ends_with(&format!(".{key}"))
    })
}

/// The key whose value says `package = "tool-core"`, in a table whose name ends with `table`.
fn rename_in(manifest: &str, table: &str) -> Option<String> {
    let mut section = "";
    for line in manifest.lines() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            section = header.split(']').next().unwrap_or("").trim();
            continue;
        }
        let is_rename = line.split('#').next().is_some_and(names_package);
        if !is_rename {
            continue;
        }
        let is_table = section.ends_with(table);
        let (parent, last) = section.rsplit_once('.').unwrap_or(("", section));
        let key = if is_table && !line.starts_with("package") {
            line.split(['=', '.', ' ']).next()
        } else if parent.ends_with(table) {
            Some(last)
        } else {
            None
        };
        if let Some(key) = key {
            return Some(key.trim_matches(['"', '\'']).to_owned());
        }
    }
    None
}

fn names_package(line: &str) -> bool {
    let squeezed: String = line.chars().filter(|c| !c.is_whitespace()).collect();
    [
        format!("package=\"{PACKAGE}\""),
        format!("package='{PACKAGE}'"),
    ]
    .iter()
    .any(|wanted| squeezed.contains(wanted.as_str()))
}
