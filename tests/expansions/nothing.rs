#[doc = " Does nothing."]
pub fn nothing() {}
#[doc = " Does nothing."]
#[derive(::core::clone ::Clone, ::core::marker ::Copy, ::core::fmt ::Debug, ::core::default ::Default)]
pub struct Nothing;
const _: () = {
    static __TOOL_DEFINITION: ::tool_core::__private::LazyDefinition = ::tool_core::__private::LazyDefinition::new(&::tool_core::__private::Spec {
        name: "nothing",
        description: "Does nothing.",
        params: &[],
        schema: ::tool_core::__private::SchemaSource::Inferred,
        attributes: ::tool_core::__private::Attributes {
            blocking: true,
            ..::tool_core::__private::Attributes::NONE
        },
    });
    use ::tool_core::__private::{AnyOutcome as _, AnyReturned as _};
    #[automatically_derived]
    impl ::tool_core::__private::Tool for Nothing {
        fn definition(&self) -> &::tool_core::__private::ToolDefinition {
            __TOOL_DEFINITION.get()
        }
        fn invoke<'a>(&'a self, call: &'a ::tool_core::__private::ToolCall) -> ::tool_core::__private::ToolFuture<'a> {
            ::tool_core::__private::Box::pin(async move {
                ::tool_core::__private::Reader::new(__TOOL_DEFINITION.get(), call)?.finish()?;
                match ::tool_core::__private::Outcome(nothing()).split() {
                    ::tool_core::__private::Ok(value) => ::tool_core::__private::ToolReturn::output(::tool_core::__private::Returned(value).classify()),
                    ::tool_core::__private::Err(error) => ::tool_core::__private::Err(::tool_core::__private::ToolFailure::into_tool_error(error)),
                }
            })
        }
    }
    #[automatically_derived]
    impl ::tool_core::__private::Named for Nothing {
        const NAME: &'static str = "nothing";
    }
};
