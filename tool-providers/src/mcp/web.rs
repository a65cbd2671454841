//! A server that is reached over HTTP.

/// The host of an address, by which a server is called that has no name.
pub(super) fn host(url: &str) -> String {
    let uri: Option<hyper::Uri> = url.parse().ok();
    let host = uri.as_ref().and_then(hyper::Uri::host);
    host.unwrap_or(url).to_owned()
}
