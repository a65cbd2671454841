//! How the runtime is to treat the tool.

use proc_macro2::TokenStream;
use quote::quote;

use crate::model::Tool;
use crate::parse::{Approval, Spill};

pub(super) fn value(tool: &Tool) -> TokenStream {
    let p = &tool.runtime;
    let arguments = &tool.arguments;
    let mut fields = TokenStream::new();
    if arguments.defer {
        fields.extend(quote!(defer: true,));
    }
    if let Some(strict) = arguments.strict {
        fields.extend(quote!(strict: #p::Option::Some(#strict),));
    }
    if requires_approval(tool) {
        fields.extend(quote!(requires_approval: true,));
    }
    if let Some(milliseconds) = arguments.max_run_time {
        let duration = quote!(::core::time::Duration::from_millis(#milliseconds));
        fields.extend(quote!(max_run_time: #p::Option::Some(#duration),));
    }
    match arguments.spill_to_file {
        Some(Spill::Characters(limit)) => {
            fields.extend(quote!(spill_to_file: #p::Option::Some(#p::Spill::Characters(#limit)),));
        }
        Some(Spill::Never) => {
            fields.extend(quote!(spill_to_file: #p::Option::Some(#p::Spill::Never),));
        }
        None => {}
    }
    match arguments.after_crash.as_deref() {
        Some("review") => fields.extend(quote!(after_crash: #p::AfterCrash::Review,)),
        Some("report") => fields.extend(quote!(after_crash: #p::AfterCrash::Report,)),
        _ => {}
    }
    if !arguments.provider_options.is_empty() {
        let options = arguments.provider_options.iter().map(|(protocol, json)| {
            let json = json.render();
            let protocol = match protocol {
                Some(protocol) => quote!(#p::Option::Some(#protocol)),
                None => quote!(#p::Option::None),
            };
            quote!(#p::ProviderOption { protocol: #protocol, json: #json })
        });
        fields.extend(quote!(provider_options: &[#(#options),*],));
    }
    if !tool.execute.is_async {
        fields.extend(quote!(blocking: true,));
    }
    if fields.is_empty() {
        quote!(#p::Attributes::NONE)
    } else {
        quote!(#p::Attributes { #fields ..#p::Attributes::NONE })
    }
}

fn requires_approval(tool: &Tool) -> bool {
    let requirement = tool.arguments.requires_approval.as_ref();
    let is_required = !matches!(requirement, None | Some((_, Approval::Flag(false))));
    is_required || tool.arguments.approval.is_some()
}
