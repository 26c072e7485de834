import {
  billingPlans,
  checkoutPlans,
  enterpriseAddOns,
  enterpriseSuite,
  type SoldPlan
} from "@berth/domain/billing/subscriptions/PlanCatalog"
import { CheckoutPlanId } from "@berth/domain/billing/checkout/Purchase"
import { creditPacks } from "@berth/domain/billing/credits/CreditPack"
import { Schema } from "effect"
import { findCheckoutError } from "./StatusMessages.ts"
import { type Html, html } from "./Html.ts"
import { formatPrice, renderAlert } from "./Layout.ts"

export interface PricingPage {
  readonly error: string | null
  readonly salesEmail: string
  /** Credits by the id of their price at the card processor. */
  readonly creditPrices: ReadonlyMap<string, number>
}

const grouped = (count: number) => count.toLocaleString("en")

const isByCheckout = Schema.is(CheckoutPlanId)

const card = ({ currency, dailyUnits, features, id, name, price }: SoldPlan): Html => html`
  <li class="card">
    <h3>${name}</h3>
    <p class="price">${formatPrice(price, currency)} <span class="muted">a month</span></p>
    <ul>
      ${features.map((feature) => html`<li>${feature}</li>`)}
      <li>${grouped(dailyUnits)} units a day</li>
    </ul>
    ${isByCheckout(id) && html`<a class="button" href="/api/cardProcessor/checkout?plan=${id}">Subscribe to ${name}</a>`}
  </li>
`

const plans = (title: string, id: string, sold: ReadonlyArray<SoldPlan>): Html => html`
  <section aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    <ul class="cards">
      ${sold.map(card)}
    </ul>
  </section>
`

const credits = (prices: ReadonlyMap<string, number>): Html => html`
  <section aria-labelledby="credits">
    <h2 id="credits">Credits</h2>
    <p>A credit is one US dollar of work: a hundred units, used after those of the day.</p>
    <ul>
      ${creditPacks.map(({ credits: count, pack, price }) => html`<li>Pack ${pack}: ${count} credits for ${formatPrice(price, "USD")}</li>`)}
    </ul>
    ${
      prices.size === 0
        ? html`<p class="muted">Packs are sold through the <a href="/docs">billing API</a>.</p>`
        : html`<p>
            ${[...prices].map(
              ([id, count]) =>
                html`<a class="button" href="/api/cardProcessor/credits?price=${encodeURIComponent(id)}"
                  >Buy ${count} credits</a
                > `
            )}
          </p>`
    }
  </section>
`

/** `/pricing`: plans, credits and enterprise add-ons. */
export const renderPricingPage = ({ creditPrices, error, salesEmail }: PricingPage): Html => {
  const sentence = findCheckoutError(error)
  const sales = html`<a href="mailto:${salesEmail}">${salesEmail}</a>`
  return html`
    <h1>Pricing</h1>
    ${sentence !== undefined && renderAlert(sentence)}
    <p>
      All plans are billed monthly. A unit is one US cent of work: a message to an agent costs one. A new account is
      free and has 50 units a day.
    </p>
    ${plans("Plans by card", "by-card", checkoutPlans)}
    ${plans("Plans through the billing API", "by-api", billingPlans)} ${credits(creditPrices)}
    <section aria-labelledby="enterprise">
      <h2 id="enterprise">Enterprise</h2>
      <p>Add-ons and the suite are sold by talking to us: ${sales}.</p>
      <table>
        <caption>
          Add-ons, a month
        </caption>
        <thead>
          <tr>
            <th scope="col">Add-on</th>
            <th scope="col">Price</th>
          </tr>
        </thead>
        <tbody>
          ${enterpriseAddOns.map(
            ({ name, price }) =>
              html`<tr>
                <th scope="row">${name}</th>
                <td>${formatPrice(price, "GBP")}</td>
              </tr>`
          )}
        </tbody>
      </table>
      <h3>${enterpriseSuite.name}: ${formatPrice(enterpriseSuite.price, "GBP")} a month</h3>
      <ul>
        ${enterpriseSuite.features.map((feature) => html`<li>${feature}</li>`)}
      </ul>
    </section>
    <section aria-labelledby="how-to-buy">
      <h2 id="how-to-buy">How to buy</h2>
      <p>
        Make an <a href="/login#register">account</a> and choose a plan above; the payment is made at our card
        processor. Plans of the billing API are sold by <code>POST /api/billing</code>, as the <a href="/docs">API</a>
        says. What is not sold by card is sold by ${sales}.
      </p>
    </section>
  `
}
