//! The implementation of the runtime's trait: from a call to the user's function and back.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::ReturnType;

use super::{definition_name, first_span, local, locate, located, param_name, spread, tool_type};
use crate::model::{Form, Input, Method, Passing, Tool};
use crate::parse::Approval;
use crate::{selfless, shape};

pub(super) fn implementation(tool: &Tool) -> TokenStream {
    let p = &tool.runtime;
    let ty = tool_type(tool);
    let definition = definition_name();
    let invoke = invoke(tool);
    let resume = resume(tool);
    let predicate = predicate(tool);
    let resolver = resolver(tool);
    quote! {
        use #p::{AnyOutcome as _, AnyReturned as _};

        #[automatically_derived]
        impl #p::Tool for #ty {
            fn definition(&self) -> &#p::ToolDefinition {
                #definition.get()
            }
            #invoke
            #predicate
            #resolver
            #resume
        }
    }
}

fn invoke(tool: &Tool) -> TokenStream {
    let p = &tool.runtime;
    let call = local("call");
    let future = future(tool, &tool.execute, &call, None);
    quote! {
        fn invoke<'a>(&'a self, #call: &'a #p::ToolCall) -> #p::ToolFuture<'a> {
            #future
        }
    }
}

fn resume(tool: &Tool) -> TokenStream {
    let Some(method) = &tool.resume else {
        return TokenStream::new();
    };
    let p = &tool.runtime;
    let (call, task) = (local("call"), local("task"));
    let future = future(tool, method, &call, Some(&task));
    quote! {
        fn resume<'a>(&'a self, #task: #p::Task, #call: &'a #p::ToolCall) -> #p::ToolFuture<'a> {
            #future
        }
    }
}

fn future(tool: &Tool, method: &Method, call: &Ident, task: Option<&Ident>) -> TokenStream {
    let p = &tool.runtime;
    let definition = definition_name();
    let arguments = local("arguments");
    let used: Vec<usize> = method.inputs.iter().filter_map(Input::param).collect();
    let values: Vec<Ident> = used.iter().map(|index| value_name(*index)).collect();
    let tables: Vec<Ident> = used.iter().map(|index| param_name(*index)).collect();
    let read = if used.is_empty() {
        quote!(#p::Reader::new(#definition.get(), #call)?.finish()?;)
    } else {
        quote! {
            let mut #arguments = #p::Reader::new(#definition.get(), #call)?;
            let (#(#values,)*) = (#(#arguments.take(&#tables),)*);
            let (#(#p::Some(#values),)*) = (#(#values,)*) else {
                return #p::Err(#arguments.into_error());
            };
        }
    };
    let value = called(tool, method, call, task);
    let reply = reply(tool, method, &value);
    // A value that keeps the future from being sent is reported at the body, where it is held.
    let pin = locate(quote!(#p::Box::pin), method.body);
    let span = located(method.body);
    quote_spanned! {span=>
        #pin(async move {
            #read
            #reply
        })
    }
}

fn called(tool: &Tool, method: &Method, call: &Ident, task: Option<&Ident>) -> TokenStream {
    let p = &tool.runtime;
    let function = &method.signature.ident;
    let inputs = method.inputs.iter().map(|input| match input {
        Input::Param(index, passing) => passed(*index, *passing),
        Input::ToolCall(ty) => {
            let ty = selfless::written_for(tool, ty);
            let span = located(first_span(&ty));
            quote_spanned!(span=> <#ty as #p::Injected<'_>>::inject(#call))
        }
        Input::Task { by_reference: true } => quote!(&#task),
        Input::Task { .. } => quote!(#task),
        Input::Unknown(name) => quote!(#name),
    });
    let called = match &tool.form {
        Form::Function { .. } => quote!(#function(#(#inputs),*)),
        Form::Impl { ty, .. } => quote!(<#ty>::#function(self, #(#inputs),*)),
    };
    if method.is_async {
        quote!(#called.await)
    } else {
        called
    }
}

fn passed(index: usize, passing: Passing) -> TokenStream {
    let value = value_name(index);
    match passing {
        Passing::Owned => quote!(#value),
        Passing::Borrowed => quote!(&#value),
        Passing::OptionalStr => quote!(#value.as_deref()),
    }
}

/// The result in the runtime's terms, each step located at the type that it is about.
fn reply(tool: &Tool, method: &Method, value: &TokenStream) -> TokenStream {
    let p = &tool.runtime;
    let (value_type, error_type) = result_types(method);
    let (ok, error) = (local("value"), local("error"));
    let returned = spread(quote!(#p::Returned(#ok).classify()), &value_type);
    let output = spread(quote!(#p::ToolReturn::output), &value_type);
    let failed = spread(quote!(#error), &error_type);
    let failure = spread(quote!(#p::ToolFailure::into_tool_error), &error_type);
    quote! {
        match #p::Outcome(#value).split() {
            #p::Ok(#ok) => #output(#returned),
            #p::Err(#error) => #p::Err(#failure(#failed)),
        }
    }
}

/// What the signature says of the value and of the error; both the whole type where that is no `Result`.
fn result_types(method: &Method) -> (TokenStream, TokenStream) {
    let ReturnType::Type(_, ty) = &method.signature.output else {
        let name = method.signature.ident.to_token_stream();
        return (name.clone(), name);
    };
    let whole = ty.to_token_stream();
    let result = shape::last_segment(ty).filter(|last| last.ident == "Result");
    match result.map(|segment| shape::arguments(segment)).as_deref() {
        Some([value, error]) => (value.to_token_stream(), error.to_token_stream()),
        Some([value]) => (value.to_token_stream(), whole),
        _ => (whole.clone(), whole),
    }
}

/// An error if the result may be a task and nothing goes on with it. Whose `Task` it is only the compiler knows.
pub(super) fn refuses_task(tool: &Tool) -> TokenStream {
    let ReturnType::Type(_, ty) = &tool.execute.signature.output else {
        return TokenStream::new();
    };
    if tool.resume.is_some() || !mentions_task(ty.to_token_stream()) {
        return TokenStream::new();
    }
    let p = &tool.runtime;
    let ty = selfless::written_for(tool, ty);
    let message = match &tool.form {
        Form::Function { .. } => {
            "a function cannot go on with a `Task`: make it the method `execute` of an `impl` block, and add `async fn resume(&self, task: Task) -> …`"
        }
        Form::Impl { .. } => {
            "nothing goes on with this `Task`: add the method `async fn resume(&self, task: Task) -> …` to this block"
        }
    };
    let assert = spread(quote!(::core::panic!(#message)), &ty);
    quote! {
        const _: () = {
            use #p::NeverPauses as _;
            if #p::Pauses::<#ty>::IT {
                #assert
            }
        };
    }
}

fn mentions_task(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "Task" || word == "TaskPoll",
        TokenTree::Group(group) => mentions_task(group.stream()),
        _ => false,
    })
}

fn predicate(tool: &Tool) -> TokenStream {
    let Some((_, Approval::Predicate(expression))) = &tool.arguments.requires_approval else {
        return TokenStream::new();
    };
    let p = &tool.runtime;
    let (call, predicate) = (local("call"), local("predicate"));
    let (ty, arguments) = match &tool.form {
        Form::Function { .. } => (quote!(fn(&#p::ToolCall) -> bool), quote!(#call)),
        Form::Impl { .. } => (
            quote!(fn(&Self, &#p::ToolCall) -> bool),
            quote!(self, #call),
        ),
    };
    quote! {
        fn requires_approval(&self, #call: &#p::ToolCall) -> bool {
            let #predicate: #ty = #expression;
            #predicate(#arguments)
        }
    }
}

fn resolver(tool: &Tool) -> TokenStream {
    let Some((_, expression)) = &tool.arguments.approval else {
        return TokenStream::new();
    };
    let p = &tool.runtime;
    let (call, decision) = (local("call"), local("decision"));
    let arguments = match &tool.form {
        Form::Function { .. } => quote!(#call),
        Form::Impl { .. } => quote!(self, #call),
    };
    let span = located(first_span(expression));
    let resolved = quote_spanned! {span=>
        let #decision: #p::Decision = (#expression)(#arguments).await;
        #decision
    };
    quote! {
        fn approval<'a>(&'a self, #call: &'a #p::ToolCall) -> #p::Option<#p::ApprovalFuture<'a>> {
            #p::Some(#p::Box::pin(async move { #resolved }))
        }
    }
}

fn value_name(index: usize) -> Ident {
    let mut name = format_ident!("value_{index}");
    name.set_span(Span::mixed_site());
    name
}

impl Input {
    fn param(&self) -> Option<usize> {
        match self {
            Input::Param(index, _) => Some(*index),
            _ => None,
        }
    }
}
