import type { PlanId } from "@berth/domain/billing/Plan"
import { shopError } from "./ErrorSentences.ts"
import { type Html, html } from "./Html.ts"
import { alert } from "./Layout.ts"

export interface FilesPage {
  /** What the owner's cell may hold, in MiB. */
  readonly storageMb: number
  readonly plan: PlanId
  /** The code of what went wrong at a checkout. */
  readonly error: string | null
}

const gibibyte = 1024
const amount = (megabytes: number) =>
  megabytes < gibibyte ? `${megabytes} MiB` : `${(megabytes / gibibyte).toLocaleString("en")} GiB`

/** `/dashboard/files`: what the owner's agents may keep. */
export const filesPage = ({ error, plan, storageMb }: FilesPage): Html => {
  const sentence = shopError(error)
  return html`
    <h1>Files</h1>
    ${sentence !== undefined && alert(sentence)}
    <p>
      Your agents share one cell, and its directory holds what they write with the <code>files</code> skill. The files
      stay when the cell is stopped, updated or repaired.
    </p>
    <dl class="facts">
      <dt>Plan</dt>
      <dd>${plan}</dd>
      <dt>Storage that you may use</dt>
      <dd>${amount(storageMb)}</dd>
      <dt>Storage that is used</dt>
      <dd>Not measured here: what your agents have written is read by asking them.</dd>
    </dl>
  `
}
