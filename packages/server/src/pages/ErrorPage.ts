import { renderAlert } from "./Layout.ts"
import { type Html, html } from "./Html.ts"

const titles: Readonly<Record<number, string>> = {
  403: "Not allowed",
  404: "Not found",
  405: "Method not allowed",
  429: "Too many requests",
  503: "Service unavailable"
}

export const findErrorTitle = (status: number): string =>
  titles[status] ?? (status >= 500 ? "Something went wrong" : "Request failed")

export const renderErrorPage = (
  status: number,
  { message, traceId }: { readonly message: string; readonly traceId: string | undefined }
): Html => html`
  <div class="narrow">
    <h1>${findErrorTitle(status)}</h1>
    ${renderAlert(message)}
    <p><a href="/">Go to the home page</a></p>
    ${traceId !== undefined && html`<p class="muted">Trace ID for support: <code>${traceId}</code></p>`}
  </div>
`
