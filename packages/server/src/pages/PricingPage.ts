import { developmentPlanPath } from "@berth/api/billing/subscriptions/DevelopmentPlansApi"
import {
  billingPlans,
  checkoutPlans,
  enterpriseAddOns,
  enterpriseSuite,
  type SoldPlan
} from "@berth/domain/billing/subscriptions/PlanCatalog"
import { CheckoutPlanId } from "@berth/domain/billing/checkout/Purchase"
import { creditPacks } from "@berth/domain/billing/credits/CreditPack"
import type { PlanId } from "@berth/domain/shared/PlanId"
import { Schema } from "effect"
import { findCheckoutError } from "./StatusMessages.ts"
import { type Html, html } from "./Html.ts"
import { capitalize, formatPrice, renderAlert } from "./Layout.ts"
import { pagePaths } from "./PagePaths.ts"
import { listPlanFeatures } from "./PlanFeatures.ts"
import { makeCallbackQuery } from "./SignInSections.ts"

interface PricingPage {
  readonly error: string | null
  readonly salesEmail: string
  /** Credits by the id of their price at the card processor. */
  readonly creditPrices: ReadonlyMap<string, number>
  /** Development without a card processor. */
  readonly offersPlansWithoutPayment: boolean
  /** The user's plan; null without a session. */
  readonly currentPlan: PlanId | null
}

const isByCheckout = Schema.is(CheckoutPlanId)

const signupUrl = `${pagePaths.signup}?${makeCallbackQuery(pagePaths.pricing)}`

// A form, so that it works without a script.
const withoutPayment = ({ id, name }: SoldPlan): Html => html`
  <form method="post" action="${developmentPlanPath}">
    <button name="plan" value="${id}">Choose ${name}</button>
    <p class="muted">Development: no payment</p>
  </form>
`

const action = (plan: SoldPlan, { currentPlan, offersPlansWithoutPayment }: PricingPage): Html | false => {
  if (plan.id === currentPlan) return html`<p><strong>Your plan</strong></p>`
  if (currentPlan === null) return html`<p><a class="button" href="${signupUrl}">Get ${plan.name}</a></p>`
  if (offersPlansWithoutPayment) return withoutPayment(plan)
  return (
    isByCheckout(plan.id) &&
    html`<p><a class="button" href="/api/cardProcessor/checkout?plan=${plan.id}">Subscribe to ${plan.name}</a></p>`
  )
}

const card = (plan: SoldPlan, page: PricingPage): Html => html`
  <li class="card">
    <h3>${plan.name}</h3>
    <p class="price">${formatPrice(plan.price, plan.currency)} <span class="muted">per month</span></p>
    <ul>
      ${listPlanFeatures(plan).map((feature) => html`<li>${feature}</li>`)}
    </ul>
    ${action(plan, page)}
  </li>
`

const plans = (title: string, id: string, sold: ReadonlyArray<SoldPlan>, page: PricingPage): Html => html`
  <section aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    <ul class="cards">
      ${sold.map((plan) => card(plan, page))}
    </ul>
  </section>
`

const credits = (prices: ReadonlyMap<string, number>): Html => html`
  <section aria-labelledby="credits">
    <h2 id="credits">Credits</h2>
    <p>Credits pay for usage beyond the daily units. One credit is 100 units.</p>
    <ul>
      ${creditPacks.map(({ credits: count, pack, price }) => html`<li>Pack ${pack}: ${count} credits for ${formatPrice(price, "USD")}</li>`)}
    </ul>
    ${
      prices.size === 0
        ? html`<p class="muted">Buy packs on the <a href="${pagePaths.plans}">plans page</a> of the console.</p>`
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

const enterprise = (salesEmail: string): Html => html`
  <section aria-labelledby="enterprise">
    <h2 id="enterprise">Enterprise</h2>
    <p>To buy add-ons or the suite, contact <a href="mailto:${salesEmail}">${salesEmail}</a>.</p>
    <table>
      <caption>
        Add-ons, per month
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
    <h3>${enterpriseSuite.name}: ${formatPrice(enterpriseSuite.price, "GBP")} per month</h3>
    <ul>
      ${enterpriseSuite.features.map((feature) => html`<li>${capitalize(feature)}</li>`)}
    </ul>
  </section>
`

const payment = ({ offersPlansWithoutPayment }: PricingPage): Html =>
  offersPlansWithoutPayment
    ? html`<p class="notice">
        <strong>Development: no payment.</strong> No card processor is configured, so you can take any plan without
        payment. Production servers do not offer this.
      </p>`
    : html`<p>
        Plans are paid by card at our card processor. Subscribe to plans in dollars on the
        <a href="${pagePaths.plans}">plans page</a> of the console.
      </p>`

/** `/pricing`: plans, credits and enterprise add-ons. */
export const renderPricingPage = (page: PricingPage): Html => {
  const error = findCheckoutError(page.error)
  return html`
    <h1>Pricing</h1>
    ${error !== undefined && renderAlert(error)}
    <p>
      Agents need a plan. A unit pays for 0.01 USD of usage: a chat message costs at least one. Every account includes
      50 units per day for the gateway API.
    </p>
    ${payment(page)} ${plans("Plans in pounds", "in-pounds", checkoutPlans, page)}
    ${plans("Plans in dollars", "in-dollars", billingPlans, page)} ${credits(page.creditPrices)}
    ${enterprise(page.salesEmail)}
  `
}
