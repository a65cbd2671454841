#[doc = " Exports a table."]
impl Export {
    pub async fn execute(&self, table: String) -> Task {
        Task::new(table)
    }
    pub async fn resume(&self, task: &Task, table: &str) -> TaskPoll<String> {
        TaskPoll::Ready(format!("{table} {}", task.data))
    }
}
const _: () = {
    static __TOOL_PARAM_0: ::tool_core::__private::Param<String> = <String as ::tool_core::__private::Parameter>::PARAM.named("table");
    static __TOOL_DEFINITION: ::tool_core::__private::LazyDefinition = ::tool_core::__private::LazyDefinition::new(&::tool_core::__private::Spec {
        name: "export",
        description: "Exports a table.",
        params: &[&__TOOL_PARAM_0],
        schema: ::tool_core::__private::SchemaSource::Inferred,
        attributes: ::tool_core::__private::Attributes {
            requires_approval: true,
            provider_options: &[::tool_core::__private::ProviderOption {
                protocol: ::tool_core::__private::Option::Some("anthropic"),
                json: "{\"eager\":true}",
            }],
            ..::tool_core::__private::Attributes::NONE
        },
    });
    use ::tool_core::__private::{AnyOutcome as _, AnyReturned as _};
    #[automatically_derived]
    impl ::tool_core::__private::Tool for Export {
        fn definition(&self) -> &::tool_core::__private::ToolDefinition {
            __TOOL_DEFINITION.get()
        }
        fn invoke<'a>(&'a self, call: &'a ::tool_core::__private::ToolCall) -> ::tool_core::__private::ToolFuture<'a> {
            ::tool_core::__private::Box::pin(async move {
                let mut arguments = ::tool_core::__private::Reader::new(__TOOL_DEFINITION.get(), call)?;
                let (value_0,) = (arguments.take(&__TOOL_PARAM_0),);
                let (::tool_core::__private::Some(value_0),) = (value_0,) else {
                    return ::tool_core::__private::Err(arguments.into_error());
                };
                match ::tool_core::__private::Outcome(<Export>::execute(self, value_0).await).split() {
                    ::tool_core::__private::Ok(value) => ::tool_core::__private::ToolReturn::output(::tool_core::__private::Returned(value).classify()),
                    ::tool_core::__private::Err(error) => ::tool_core::__private::Err(::tool_core::__private::ToolFailure::into_tool_error(error)),
                }
            })
        }
        fn approval<'a>(&'a self, call: &'a ::tool_core::__private::ToolCall) -> ::tool_core::__private::Option<::tool_core::__private::ApprovalFuture<'a>> {
            ::tool_core::__private::Some(::tool_core::__private::Box::pin(async move {
                let decision: ::tool_core::__private::Decision = (decide)(self, call).await;
                decision
            }))
        }
        fn resume<'a>(&'a self, task: ::tool_core::__private::Task, call: &'a ::tool_core::__private::ToolCall) -> ::tool_core::__private::ToolFuture<'a> {
            ::tool_core::__private::Box::pin(async move {
                let mut arguments = ::tool_core::__private::Reader::new(__TOOL_DEFINITION.get(), call)?;
                let (value_0,) = (arguments.take(&__TOOL_PARAM_0),);
                let (::tool_core::__private::Some(value_0),) = (value_0,) else {
                    return ::tool_core::__private::Err(arguments.into_error());
                };
                match ::tool_core::__private::Outcome(<Export>::resume(self, &task, &value_0).await).split() {
                    ::tool_core::__private::Ok(value) => ::tool_core::__private::ToolReturn::output(::tool_core::__private::Returned(value).classify()),
                    ::tool_core::__private::Err(error) => ::tool_core::__private::Err(::tool_core::__private::ToolFailure::into_tool_error(error)),
                }
            })
        }
    }
    #[automatically_derived]
    impl ::tool_core::__private::Named for Export {
        const NAME: &'static str = "export";
    }
};
