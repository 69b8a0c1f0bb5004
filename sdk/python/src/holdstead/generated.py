"""Written by scripts/types.py from the gateway's OpenAPI document. Do not edit."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

BTreeMap = dict[str, str]
Closing = Literal["expired", "cancelled", "answered_late", "withdrawn"]
Code = Literal["unauthenticated", "forbidden", "foreign_origin", "unsupported_media_type", "bad_request", "not_found", "method_not_allowed", "already_answered", "stale_prompt", "closed", "conflict", "invalid", "idempotency_key_reused", "too_large", "link_used", "internal", "unavailable", "answering_disabled", "passkey_required", "rate_limited", "nonce_refused", "bad_signature", "signature_needed", "exchange_needed"]
DeviceId = str
Digest = str
Effect = Literal["allow", "ask", "deny"]
GrantId = str
HoldThen = Literal["park", "wait", "deny", "defer"]
Incarnation = int
InteractionId = str
KnownBy = Literal["record", "program", "withdrawn", "closed", "left_to_terminal"]
Layer = Literal["built_in", "organisation", "person", "project", "session"]
MessageId = str
NotRun = Literal["blocked", "asked_anew", "not_called_again"]
Origin = Literal["agent", "attached", "tool", "caller"]
PasskeyId = str
PersonId = str
Presentation = Literal["tool", "questionnaire"]
PromptId = str
Requirement = Literal["folder_trust"]
Risk = Literal["deletes", "destroys", "forces", "rewrites", "pipes_to_shell", "writes_outside", "runs_code", "sends", "changes_machine", "credentials", "listed", "other"]
RunnerId = str
Scope = Literal["once", "session", "hour", "always"]
Seq = int
SessionId = str
Settlement = Literal["approved", "denied", "answered", "declined", "failed"]
Surface = Literal["web", "terminal", "push", "chat", "agent_terminal", "api"]
TerminalAnswer = Literal["allowed", "refused", "answered", "not_by_a_person", "not_said"]
TextFormat = Literal["email", "uri", "date-time"]
Timestamp = str
ToolCallId = str
TurnId = str


class _Actor(TypedDict):
    deviceId: DeviceId
    personId: PersonId


class Actor(_Actor, total=False):
    passkeyId: PasskeyId | None


class _Answer(TypedDict):
    questionId: str


class Answer(_Answer, total=False):
    labels: list[str]
    other: str | None


class _AskBody(TypedDict):
    kind: Literal["approval", "question", "form"]


class AskBody(_AskBody, total=False):
    form: Form
    isPlan: bool
    offeredScopes: list[OfferedScope]
    preview: str | None
    questions: list[Question]


class _AskCall(TypedDict):
    key: str
    kind: Literal["approval", "question", "form"]
    toolName: str


class AskCall(_AskCall, total=False):
    agentSays: str | None
    completedView: CompletedView | None
    editable: bool
    error: str | None
    fieldErrors: BTreeMap
    form: FormCall
    initialValues: dict[str, Any]
    input: Any
    presentation: Presentation | None
    preview: str | None
    questions: list[Question]
    scopes: list[Scope]
    sessionId: SessionId | None
    timeoutMs: int | None


class _AskCallBody(TypedDict):
    kind: Literal["approval", "question", "form"]


class AskCallBody(_AskCallBody, total=False):
    editable: bool
    form: FormCall
    preview: str | None
    questions: list[Question]
    scopes: list[Scope]


class _AskState(TypedDict):
    state: Literal["open", "submitted", "queued", "settled", "closed"]


class AskState(_AskState, total=False):
    closing: Closing
    settlement: Settlement
    submittedPromptId: PromptId


class _Asker(TypedDict):
    name: str
    surface: Surface


class Asker(_Asker, total=False):
    actor: Actor | None


class CallMark(TypedDict):
    field: str
    risk: Risk
    text: str


class _CallPart(TypedDict):
    effect: Effect
    why: str


class CallPart(_CallPart, total=False):
    rule: RuleText | None
    text: str | None


class _CallSource(TypedDict):
    by: Literal["agent", "tool", "program"]


class CallSource(_CallSource, total=False):
    agent: str
    folder: str | None
    name: str | None
    personId: PersonId | None
    runner: RunnerId | None


class _CallVerdict(TypedDict):
    effect: Effect
    parts: list[CallPart]


class CallVerdict(_CallVerdict, total=False):
    reason: str | None
    requirements: list[Requirement]


class Capabilities(TypedDict):
    editInput: bool
    reason: bool
    scopes: bool


class CompletedView(TypedDict, total=False):
    showInputs: bool
    summaryTemplate: str | None


class Cut(TypedDict):
    bytes: int


class _Decider(TypedDict):
    by: Literal["person", "grant", "rule", "earlier"]


class Decider(_Decider, total=False):
    actor: Actor | None
    earlierInteractionId: InteractionId
    grantId: GrantId
    name: str
    surface: Surface


class _Delivery(TypedDict):
    delivery: Literal["accepted", "delivering", "delivered", "acknowledged", "unknown", "undeliverable", "not_run"]


class Delivery(_Delivery, total=False):
    because: NotRun
    inTerminal: InTerminal | None
    incarnation: Incarnation
    movedTo: InteractionId | None


class _Field(TypedDict):
    id: str
    label: str
    type: Literal["text", "textarea", "number", "select", "multiselect", "checkbox", "radio", "date", "secret"]


class Field(_Field, total=False):
    default: Any
    description: str | None
    format: TextFormat | None
    integer: bool
    max: float | None | str
    maxItems: int | None
    maxLength: int | None
    min: float | None | str
    minItems: int | None
    minLength: int | None
    options: list[FieldOption]
    required: bool


class _FieldKind(TypedDict):
    type: Literal["text", "textarea", "number", "select", "multiselect", "checkbox", "radio", "date", "secret"]


class FieldKind(_FieldKind, total=False):
    format: TextFormat | None
    integer: bool
    max: float | None | str
    maxItems: int | None
    maxLength: int | None
    min: float | None | str
    minItems: int | None
    minLength: int | None
    options: list[FieldOption]


class FieldOption(TypedDict):
    label: str
    value: str


class _Form(TypedDict):
    fields: list[Field]


class Form(_Form, total=False):
    title: str | None


class FormCall(TypedDict, total=False):
    fields: list[Field]
    schema: dict[str, Any] | None
    title: str | None


class _Grant(TypedDict):
    givenAt: Timestamp
    givenBy: str
    grantId: GrantId
    rule: Literal["exact_input", "key", "lines"]
    scope: Scope


class Grant(_Grant, total=False):
    expiresAt: Timestamp | None
    inputDigest: Digest
    interactionId: InteractionId | None
    key: str
    lines: list[str]
    source: CallSource | None
    toolName: str


class Hold(TypedDict):
    afterMs: int
    then: HoldThen


class InTerminal(TypedDict):
    answer: TerminalAnswer
    knownBy: KnownBy


class _Interaction(TypedDict):
    agent: str
    openedAt: Timestamp
    parked: bool
    request: InteractionRequest
    seq: Seq
    sessionId: SessionId
    state: Literal["open", "submitted", "queued", "settled", "closed"]


class Interaction(_Interaction, total=False):
    closedBy: str | None
    closing: Closing
    cut: Cut | None
    delivery: Delivery | None
    failure: str | None
    inTerminal: InTerminal | None
    late: LateResponse | None
    ranOtherThanApproved: bool
    respondedAt: Timestamp | None
    response: InteractionResponse | None
    sessionTitle: str | None
    settlement: Settlement
    snoozedBy: str | None
    snoozedUntil: Timestamp | None
    submittedPromptId: PromptId


class _InteractionRequest(TypedDict):
    attempt: int
    canPark: bool
    capabilities: Capabilities
    hold: Hold
    input: Any
    inputDigest: Digest
    interactionId: InteractionId
    kind: Literal["approval", "question", "form"]
    origin: Origin
    promptId: PromptId
    toolName: str


class InteractionRequest(_InteractionRequest, total=False):
    agentSays: str | None
    askedBy: Asker | None
    completedView: CompletedView | None
    cwd: str | None
    deadline: Timestamp | None
    decisionReason: str | None
    error: str | None
    fieldErrors: dict[str, Any]
    form: Form
    handlerState: Any
    hasHandler: bool
    initialValues: dict[str, Any]
    isPlan: bool
    marks: list[CallMark]
    mayHaveRun: bool
    offeredScopes: list[OfferedScope]
    parents: list[str]
    presentation: Presentation
    preview: str | None
    questions: list[Question]
    responseId: MessageId | None
    toolCallId: ToolCallId | None
    turnId: TurnId | None
    verdict: CallVerdict | None


class _InteractionResponse(TypedDict):
    action: Literal["approve", "deny", "submit", "cancel"]
    by: Literal["person", "grant", "rule", "earlier"]
    interactionId: InteractionId
    promptId: PromptId


class InteractionResponse(_InteractionResponse, total=False):
    actor: Actor | None
    answers: list[Answer] | None
    bodyDigest: Digest | None
    earlierInteractionId: InteractionId
    editedInput: Any
    gives: Grant | None
    grantId: GrantId
    idempotencyKey: str | None
    input: dict[str, Any] | None
    lines: list[str]
    name: str
    reason: str | None
    responseId: MessageId | None
    scope: Scope
    settlement: Settlement | None
    surface: Surface
    toolCallId: ToolCallId | None
    turnId: TurnId | None


class _LateResponse(TypedDict):
    action: Literal["approve", "deny", "submit", "cancel"]
    at: Timestamp
    name: str
    surface: Surface


class LateResponse(_LateResponse, total=False):
    actor: Actor | None
    answers: list[Answer] | None
    editedInput: Any
    input: dict[str, Any] | None
    lines: list[str]
    reason: str | None
    scope: Scope


class _OfferedScope(TypedDict):
    rule: Literal["exact_input", "key", "lines"]
    scope: Scope


class OfferedScope(_OfferedScope, total=False):
    inputDigest: Digest
    key: str
    lines: list[str]
    source: CallSource | None
    toolName: str


class _Problem(TypedDict):
    code: Code
    detail: str
    status: int
    title: str
    type: str


class Problem(_Problem, total=False):
    fieldErrors: BTreeMap
    promptId: PromptId | None
    winner: Winner | None


class _Question(TypedDict):
    header: str
    id: str
    question: str


class Question(_Question, total=False):
    allowOther: bool
    multiSelect: bool
    multiline: bool
    options: list[QuestionOption]
    secret: bool


class _QuestionOption(TypedDict):
    label: str


class QuestionOption(_QuestionOption, total=False):
    description: str | None
    preview: str | None


class _Refusal(TypedDict):
    code: Code
    detail: str


class Refusal(_Refusal, total=False):
    fieldErrors: BTreeMap
    promptId: PromptId | None
    winner: Winner | None


class _Response(TypedDict):
    action: Literal["approve", "deny", "submit", "cancel"]


class Response(_Response, total=False):
    answers: list[Answer] | None
    editedInput: Any
    input: dict[str, Any] | None
    lines: list[str]
    reason: str | None
    scope: Scope


class _Rule(TypedDict):
    rule: Literal["exact_input", "key", "lines"]


class Rule(_Rule, total=False):
    inputDigest: Digest
    key: str
    lines: list[str]
    source: CallSource | None
    toolName: str


class RuleText(TypedDict):
    layer: Layer
    text: str


class _Winner(TypedDict):
    action: str
    at: Timestamp
    by: Literal["person", "grant", "rule", "earlier"]
    interactionId: InteractionId


class Winner(_Winner, total=False):
    actor: Actor | None
    earlierInteractionId: InteractionId
    grantId: GrantId
    name: str
    surface: Surface
