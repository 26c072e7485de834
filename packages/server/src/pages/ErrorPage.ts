import { renderAlert } from "./Layout.ts"
import { type Html, html } from "./Html.ts"

const titles: Readonly<Record<number, string>> = {
  403: "Not allowed",
  404: "Not found",
  405: "That cannot be done here",
  429: "Too many requests",
  503: "Not available at the moment"
}

export const findErrorTitle = (status: number): string =>
  titles[status] ?? (status >= 500 ? "Something went wrong" : "That did not work")

export const renderErrorPage = (
  status: number,
  { message, traceId }: { readonly message: string; readonly traceId: string | undefined }
): Html => html`
  <div class="narrow">
    <h1>${findErrorTitle(status)}</h1>
    ${renderAlert(message)}
    <p><a href="/">To the start</a></p>
    ${traceId !== undefined && html`<p class="muted">For support: <code>${traceId}</code></p>`}
  </div>
`
