import { readFieldProblems } from "@berth/api/http/FieldProblems"
import { HttpApiSchema, type HttpServerRequest, UrlParams } from "@effect/platform"
import { Effect, Option, Schema } from "effect"
import { type Content, type Html, html } from "./Html.ts"

/** A submitted form: its values, and its problems by field. */
export interface FormState {
  readonly values: Readonly<Record<string, string>>
  readonly problems: ReadonlyMap<string, string>
}

export const emptyForm: FormState = { values: {}, problems: new Map() }

/** The media type of submitted forms. */
export const formType = "application/x-www-form-urlencoded"

/** Reads the fields of a submitted form; empty if absent. */
export const readForm = (request: HttpServerRequest.HttpServerRequest) =>
  Effect.map(
    Effect.orElseSucceed(request.urlParamsBody, () => UrlParams.empty),
    (fields) => (name: string) => Option.getOrElse(UrlParams.getFirst(fields, name), () => "")
  )

/** Returns the status and the problems of a rejected form, from its body in the contract. */
export const readRefusedForm = <A, I>(body: Schema.Schema<A, I>, error: A) => ({
  status: HttpApiSchema.getStatusError(body),
  problems: readFieldProblems(Schema.encodeSync(body)(error))
})

/** Renders a labeled input with its problem; the first problem has the focus. Scripts mark fields in the same way. */
export const renderField = (
  { problems, values }: FormState,
  {
    attributes,
    form,
    label,
    name
  }: {
    readonly form: string
    readonly name: string
    readonly label: Content
    readonly attributes: Html
  }
): Html => {
  const problem = problems.get(name)
  const id = `${form}-${name}-error`
  const [first] = problems.keys()
  return html`
    <label>
      ${label}
      <input
        name="${name}"
        ${attributes}
        ${values[name] !== undefined && html`value="${values[name]}"`}
        ${problem !== undefined && html`aria-invalid="true" aria-describedby="${id}"`}
        ${name === first && html`autofocus`}
      />
    </label>
    ${problem !== undefined && html`<p class="field-error" id="${id}">${problem}</p>`}
  `
}
