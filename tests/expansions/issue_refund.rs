impl IssueRefund {
    #[doc = " Issues a refund for an order."]
    pub fn execute(&self, order: &str, cents: u64) -> String {
        format!("{order} {cents}")
    }
    fn is_large(&self, call: &ToolCall) -> bool {
        call.arguments.as_str().len() as u64 > self.limit
    }
}
const _: () = {
    static __TOOL_PARAM_0: ::tool_core::__private::Param<::tool_core::__private::String> =
        <::tool_core::__private::String as ::tool_core::__private::Parameter>::PARAM.named("order");
    static __TOOL_PARAM_1: ::tool_core::__private::Param<u64> = <u64 as ::tool_core::__private::Parameter>::PARAM.named("cents");
    static __TOOL_DEFINITION: ::tool_core::__private::LazyDefinition = ::tool_core::__private::LazyDefinition::new(&::tool_core::__private::Spec {
        name: "issue_refund",
        description: "Issues a refund for an order.",
        params: &[&__TOOL_PARAM_0, &__TOOL_PARAM_1],
        schema: ::tool_core::__private::SchemaSource::Inferred,
        attributes: ::tool_core::__private::Attributes {
            requires_approval: true,
            max_run_time: ::tool_core::__private::Option::Some(::core::time::Duration::from_millis(7200000u64)),
            spill_to_file: ::tool_core::__private::Option::Some(::tool_core::__private::Spill::Characters(50000usize)),
            after_crash: ::tool_core::__private::AfterCrash::Review,
            blocking: true,
            ..::tool_core::__private::Attributes::NONE
        },
    });
    use ::tool_core::__private::{AnyOutcome as _, AnyReturned as _};
    #[automatically_derived]
    impl ::tool_core::__private::Tool for IssueRefund {
        fn definition(&self) -> &::tool_core::__private::ToolDefinition {
            __TOOL_DEFINITION.get()
        }
        fn invoke<'a>(&'a self, call: &'a ::tool_core::__private::ToolCall) -> ::tool_core::__private::ToolFuture<'a> {
            ::tool_core::__private::Box::pin(async move {
                let mut arguments = ::tool_core::__private::Reader::new(__TOOL_DEFINITION.get(), call)?;
                let (value_0, value_1) = (arguments.take(&__TOOL_PARAM_0), arguments.take(&__TOOL_PARAM_1));
                let (::tool_core::__private::Some(value_0), ::tool_core::__private::Some(value_1)) = (value_0, value_1) else {
                    return ::tool_core::__private::Err(arguments.into_error());
                };
                match ::tool_core::__private::Outcome(<IssueRefund>::execute(self, &value_0, value_1)).split() {
                    ::tool_core::__private::Ok(value) => ::tool_core::__private::ToolReturn::output(::tool_core::__private::Returned(value).classify()),
                    ::tool_core::__private::Err(error) => ::tool_core::__private::Err(::tool_core::__private::ToolFailure::into_tool_error(error)),
                }
            })
        }
        fn requires_approval(&self, call: &::tool_core::__private::ToolCall) -> bool {
            let predicate: fn(&Self, &::tool_core::__private::ToolCall) -> bool = Self::is_large;
            predicate(self, call)
        }
    }
    #[automatically_derived]
    impl ::tool_core::__private::Named for IssueRefund {
        const NAME: &'static str = "issue_refund";
    }
};
