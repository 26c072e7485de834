import { toMajorUnits } from "@berth/domain/shared/Money"
import { storageUpgrade } from "@berth/domain/billing/checkout/Purchase"
import { findStorageGigabytes, type StorageTier } from "@berth/domain/billing/storage/StorageEntitlements"
import { findCheckoutError } from "./StatusMessages.ts"
import { type Html, html } from "./Html.ts"
import { formatPlan, formatPrice, renderAlert, renderStatusLine, renderWithScript } from "./Layout.ts"
import type { PlanId } from "@berth/domain/shared/PlanId"

export interface FilesPage {
  /** Disk limit of the instance, in MiB. */
  readonly storageMb: number
  readonly plan: PlanId
  readonly tier: StorageTier
  readonly hasPaid: boolean
  readonly error: string | null
}

const gibibyte = 1024
const amount = (megabytes: number) =>
  megabytes < gibibyte ? `${megabytes} MiB` : `${(megabytes / gibibyte).toLocaleString("en")} GiB`

const upgrade = renderWithScript(
  "Upgrading the storage",
  html`<p>
      <button class="primary" id="storage-upgrade" type="button">
        Upgrade to ${findStorageGigabytes("upgraded")} GB for
        ${formatPrice(toMajorUnits(storageUpgrade.price.amount), storageUpgrade.price.currency)} per month
      </button>
    </p>
    ${renderStatusLine("storage-status")}`
)

/** `/dashboard/files`: the storage of the account. */
export const renderFilesPage = ({ error, hasPaid, plan, storageMb, tier }: FilesPage): Html => {
  const sentence = findCheckoutError(error)
  return html`
    <h1>Files</h1>
    ${sentence !== undefined && renderAlert(sentence)}
    <p>
      Your agents share one instance. Its directory holds the files that they write with the <code>files</code> skill.
      Files are kept when the instance is stopped, updated or repaired.
    </p>
    <dl class="facts">
      <dt>Plan</dt>
      <dd>${formatPlan(plan)}</dd>
      <dt>Account storage</dt>
      <dd>${findStorageGigabytes(tier)} GB</dd>
      <dt>Instance storage of your plan</dt>
      <dd>${amount(storageMb)}</dd>
    </dl>
    ${
      tier === "upgraded"
        ? html`<p>You have the storage upgrade.</p>`
        : hasPaid
          ? html`<p class="notice" role="status">
              Thank you. The upgrade becomes active in a moment. Reload this page.
            </p>`
          : upgrade
    }
  `
}
