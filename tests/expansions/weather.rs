#[doc = " Gets the current weather for a location."]
pub async fn weather(latitude: f64, longitude: f64, days: u32, place: Option<&str>, tool_call: &ToolCall) -> Result<String, ToolError> {
    let _ = (latitude, longitude, days, place, tool_call);
    Ok(String::new())
}
#[doc = " Gets the current weather for a location."]
#[derive(::core::clone ::Clone, ::core::marker ::Copy, ::core::fmt ::Debug, ::core::default ::Default)]
pub struct Weather;
const _: () = {
    static __TOOL_PARAM_0: ::tool_core::__private::Param<f64> = <f64 as ::tool_core::__private::Parameter>::PARAM
        .named("latitude")
        .describe("Latitude in decimal degrees.")
        .constrain("{\"minimum\":-90.0,\"maximum\":90.0}");
    static __TOOL_PARAM_1: ::tool_core::__private::Param<f64> = <f64 as ::tool_core::__private::Parameter>::PARAM.named("longitude");
    static __TOOL_PARAM_2: ::tool_core::__private::Param<u32> = <u32 as ::tool_core::__private::Parameter>::PARAM.named("n").default(|| 3).default_json("3");
    static __TOOL_PARAM_3: ::tool_core::__private::Param<::tool_core::__private::Option<::tool_core::__private::String>> =
        <::tool_core::__private::Option<::tool_core::__private::String> as ::tool_core::__private::Parameter>::PARAM.named("place");
    static __TOOL_DEFINITION: ::tool_core::__private::LazyDefinition = ::tool_core::__private::LazyDefinition::new(&::tool_core::__private::Spec {
        name: "weather",
        description: "Gets the current weather for a location.",
        params: &[&__TOOL_PARAM_0, &__TOOL_PARAM_1, &__TOOL_PARAM_2, &__TOOL_PARAM_3],
        schema: ::tool_core::__private::SchemaSource::Inferred,
        attributes: ::tool_core::__private::Attributes::NONE,
    });
    use ::tool_core::__private::{AnyOutcome as _, AnyReturned as _};
    #[automatically_derived]
    impl ::tool_core::__private::Tool for Weather {
        fn definition(&self) -> &::tool_core::__private::ToolDefinition {
            __TOOL_DEFINITION.get()
        }
        fn invoke<'a>(&'a self, call: &'a ::tool_core::__private::ToolCall) -> ::tool_core::__private::ToolFuture<'a> {
            ::tool_core::__private::Box::pin(async move {
                let mut arguments = ::tool_core::__private::Reader::new(__TOOL_DEFINITION.get(), call)?;
                let (value_0, value_1, value_2, value_3) = (
                    arguments.take(&__TOOL_PARAM_0),
                    arguments.take(&__TOOL_PARAM_1),
                    arguments.take(&__TOOL_PARAM_2),
                    arguments.take(&__TOOL_PARAM_3),
                );
                let (
                    ::tool_core::__private::Some(value_0),
                    ::tool_core::__private::Some(value_1),
                    ::tool_core::__private::Some(value_2),
                    ::tool_core::__private::Some(value_3),
                ) = (value_0, value_1, value_2, value_3)
                else {
                    return ::tool_core::__private::Err(arguments.into_error());
                };
                match ::tool_core::__private::Outcome(
                    weather(
                        value_0,
                        value_1,
                        value_2,
                        value_3.as_deref(),
                        <&ToolCall as ::tool_core::__private::Injected<'_>>::inject(call),
                    )
                    .await,
                )
                .split()
                {
                    ::tool_core::__private::Ok(value) => ::tool_core::__private::ToolReturn::output(::tool_core::__private::Returned(value).classify()),
                    ::tool_core::__private::Err(error) => ::tool_core::__private::Err(::tool_core::__private::ToolFailure::into_tool_error(error)),
                }
            })
        }
    }
    #[automatically_derived]
    impl ::tool_core::__private::Named for Weather {
        const NAME: &'static str = "weather";
    }
};
