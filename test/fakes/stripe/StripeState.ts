import type { CardBehavior } from "@berth/infra/stripe/CardProcessorTest"
import { findForm, type StripeForm, findList, findMetadata, findText } from "./StripeForm.ts"
import {
  makeCardError,
  type StripeCheckoutSession,
  type StripeCustomer,
  type StripeEventObject,
  type StripeInvoice,
  invalidParameter,
  makeList,
  type StripeMetadata,
  missingParameter,
  makeStripeId,
  type StripePaymentIntent,
  type StripePaymentMethod,
  type StripePrice,
  type StripeSchedule,
  type StripeEvent,
  type StripeSubscription,
  type StripeSubscriptionItem,
  unknownId
} from "./StripeObjects.ts"

const apiVersion = "2026-10-28.endive"

const month = 30 * 24 * 3600
const day = 24 * 3600
const ended = new Set(["canceled", "incomplete_expired"])

interface Session {
  readonly object: StripeCheckoutSession
  readonly price: StripePrice
  readonly subscriptionMetadata: StripeMetadata
  readonly intentMetadata: StripeMetadata
  readonly savesCard: boolean
}

/** The processor's objects and the effects of its calls. Times are epoch seconds. */
export const makeStripeState = (options: { readonly origin: () => string; readonly now: () => number }) => {
  const customers = new Map<string, StripeCustomer>()
  const methods = new Map<string, { readonly object: StripePaymentMethod; readonly behavior: CardBehavior }>()
  const prices = new Map<string, StripePrice>()
  const sessions = new Map<string, Session>()
  const intents = new Map<string, StripePaymentIntent>()
  const subscriptions = new Map<string, StripeSubscription>()
  const invoices = new Map<string, StripeInvoice>()
  const schedules = new Map<string, StripeSchedule>()
  const events: Array<StripeEvent> = []
  const { now } = options

  const emit = (type: string, object: StripeEventObject): StripeEvent => {
    const event: StripeEvent = {
      id: makeStripeId("evt"),
      object: "event",
      api_version: apiVersion,
      created: now(),
      livemode: false,
      pending_webhooks: 1,
      request: { id: null, idempotency_key: null },
      type,
      data: { object: structuredClone(object) }
    }
    events.push(event)
    return event
  }

  const customer = (id: string): StripeCustomer => {
    const found = customers.get(id)
    if (found === undefined) throw unknownId("customer", id, "id")
    return found
  }
  const customerAmongParameters = (id: string): StripeCustomer => {
    const found = customers.get(id)
    if (found === undefined || found.deleted === true) throw unknownId("customer", id, "customer", 400)
    return found
  }
  const subscription = (id: string): StripeSubscription => {
    const found = subscriptions.get(id)
    if (found === undefined) throw unknownId("subscription", id, "id")
    return found
  }
  const session = (id: string): Session => {
    const found = sessions.get(id)
    if (found === undefined) throw unknownId("checkout.session", id, "session")
    return found
  }

  const createCustomer = (form: StripeForm) => {
    const email = findText(form, "email")
    if (email !== null && !email.includes("@")) throw invalidParameter(`Invalid email address: ${email}`, "email")
    const made: StripeCustomer = {
      id: makeStripeId("cus"),
      object: "customer",
      created: now(),
      livemode: false,
      email,
      name: findText(form, "name"),
      metadata: findMetadata(form, "metadata"),
      invoice_settings: { default_payment_method: null }
    }
    customers.set(made.id, made)
    return made
  }

  const updateCustomer = (id: string, form: StripeForm) => {
    const found = customer(id)
    found.email = findText(form, "email") ?? found.email
    found.name = findText(form, "name") ?? found.name
    found.metadata = { ...found.metadata, ...findMetadata(form, "metadata") }
    const method = findText(form, "invoice_settings", "default_payment_method")
    if (method !== null) found.invoice_settings = { default_payment_method: method }
    return found
  }

  /** Adds a card to the customer, as its newest. */
  const saveCard = (customerId: string, behavior: CardBehavior = {}, isDefault = false): StripePaymentMethod => {
    const object: StripePaymentMethod = {
      id: makeStripeId("pm"),
      object: "payment_method",
      type: "card",
      created: now(),
      livemode: false,
      customer: customer(customerId).id,
      card: { brand: "visa", last4: "4242", exp_month: 12, exp_year: 2040 }
    }
    methods.set(object.id, { object, behavior })
    if (isDefault) customer(customerId).invoice_settings = { default_payment_method: object.id }
    return object
  }

  const methodsOf = (customerId: string) =>
    [...methods.values()].flatMap(({ object }) => (object.customer === customerId ? [object] : [])).toReversed()

  const addPrice = (
    price: Pick<StripePrice, "currency" | "unit_amount"> &
      Partial<Pick<StripePrice, "id" | "recurring" | "product" | "metadata">>
  ) => {
    const made: StripePrice = {
      object: "price",
      active: true,
      created: now(),
      livemode: false,
      id: price.id ?? makeStripeId("price"),
      currency: price.currency,
      product: price.product ?? makeStripeId("prod"),
      unit_amount: price.unit_amount,
      type: (price.recurring ?? null) === null ? "one_time" : "recurring",
      recurring: price.recurring ?? null,
      metadata: price.metadata ?? {}
    }
    prices.set(made.id, made)
    return made
  }

  const priceFrom = (form: StripeForm, param: string): StripePrice => {
    const currency = findText(form, "currency")
    if (currency === null) throw missingParameter(`${param}[currency]`)
    if (!/^[a-z]{3}$/.test(currency)) throw invalidParameter(`Invalid currency: ${currency}`, `${param}[currency]`)
    const product = findText(form, "product")
    if (product === null && findText(form, "product_data", "name") === null)
      throw missingParameter(`${param}[product_data][name]`)
    const interval = findText(form, "recurring", "interval")
    return addPrice({
      currency,
      unit_amount: amountAt(form, "unit_amount", `${param}[unit_amount]`),
      recurring: interval === null ? null : { interval, interval_count: 1 },
      metadata: findMetadata(form, "metadata"),
      ...(product === null ? {} : { product })
    })
  }

  const knownPrice = (id: string, param: string): StripePrice => {
    const found = prices.get(id)
    if (found === undefined) throw unknownId("price", id, param, 400)
    return found
  }

  /** The processor allows one currency per customer with a subscription. */
  const refuseSecondCurrency = (customerId: string, currency: string) => {
    const other = [...subscriptions.values()].find(
      (one) => one.customer === customerId && !ended.has(one.status) && one.currency !== currency
    )
    if (other !== undefined)
      throw invalidParameter(
        `You cannot combine currencies on a single customer. This customer has an active subscription, subscription schedule, discount, quote, or invoice item with currency ${other.currency}`
      )
  }

  const createSession = (form: StripeForm): StripeCheckoutSession => {
    const [line, ...more] = findList(form, "line_items")
    if (line === undefined) throw missingParameter("line_items")
    if (more.length > 0) throw invalidParameter("This fake sells one thing at a time.", "line_items")
    const mode = findText(form, "mode")
    if (mode !== "payment" && mode !== "subscription")
      throw invalidParameter("Invalid mode: must be one of payment, setup, or subscription", "mode")
    const successUrl = findText(form, "success_url")
    if (successUrl === null) throw missingParameter("success_url")
    for (const url of [successUrl, findText(form, "cancel_url")])
      if (url !== null && !URL.canParse(url)) throw invalidParameter("Not a valid URL", "success_url")
    const inline = findForm(line, "price_data")
    const priceId = findText(line, "price")
    if (inline === null && priceId === null) throw missingParameter("line_items[0][price]")
    if (findText(line, "quantity") === null) throw missingParameter("line_items[0][quantity]")
    const price =
      inline === null
        ? knownPrice(priceId ?? "", "line_items[0][price]")
        : priceFrom(inline, "line_items[0][price_data]")
    if (mode === "payment" && price.recurring !== null)
      throw invalidParameter(
        "You specified `payment` mode but passed a recurring price. Either switch to `subscription` mode or use only one-time prices."
      )
    if (mode === "subscription" && price.recurring === null)
      throw invalidParameter("You must provide at least one recurring price in `subscription` mode when using prices.")
    if (mode === "payment" && findForm(form, "subscription_data") !== null)
      throw invalidParameter("You can not pass `subscription_data` in `payment` mode.", "subscription_data")
    if (mode === "subscription" && findForm(form, "payment_intent_data") !== null)
      throw invalidParameter("You can not pass `payment_intent_data` in `subscription` mode.", "payment_intent_data")
    const customerId = findText(form, "customer")
    const email = findText(form, "customer_email")
    if (customerId !== null && email !== null)
      throw invalidParameter("You may only specify one of these parameters: customer, customer_email.", "customer")
    if (customerId !== null) {
      customerAmongParameters(customerId)
      if (mode === "subscription") refuseSecondCurrency(customerId, price.currency)
    }
    const reference = findText(form, "client_reference_id")
    if (reference !== null && reference.length > 200)
      throw invalidParameter("Invalid string: too long", "client_reference_id")
    const id = makeStripeId("cs_test")
    const object: StripeCheckoutSession = {
      id,
      object: "checkout.session",
      created: now(),
      expires_at: now() + day,
      livemode: false,
      mode,
      amount_subtotal: price.unit_amount,
      amount_total: price.unit_amount,
      currency: price.currency,
      client_reference_id: reference,
      success_url: successUrl,
      cancel_url: findText(form, "cancel_url"),
      metadata: findMetadata(form, "metadata"),
      customer_email: email,
      ui_mode: "hosted_page",
      customer: customerId,
      customer_details: null,
      status: "open",
      payment_status: "unpaid",
      payment_intent: null,
      subscription: null,
      invoice: null,
      url: `${options.origin()}/c/pay/${id}`
    }
    sessions.set(id, {
      object,
      price,
      subscriptionMetadata: findMetadata(form, "subscription_data", "metadata"),
      intentMetadata: findMetadata(form, "payment_intent_data", "metadata"),
      savesCard: mode === "subscription" || findText(form, "payment_intent_data", "setup_future_usage") !== null
    })
    return object
  }

  const expireSession = (id: string): StripeCheckoutSession => {
    const { object } = session(id)
    if (object.status !== "open")
      throw invalidParameter(
        `Only Checkout Sessions with a status in ["open"] can be expired. This Checkout Session has a status of ${object.status}.`
      )
    object.status = "expired"
    object.url = null
    return object
  }

  const newIntent = (
    fields: Pick<
      StripePaymentIntent,
      "amount" | "currency" | "customer" | "description" | "metadata" | "payment_method"
    >
  ) => {
    const id = makeStripeId("pi")
    const made: StripePaymentIntent = {
      ...fields,
      id,
      object: "payment_intent",
      created: now(),
      livemode: false,
      client_secret: `${id}_secret_${makeStripeId("s")}`,
      amount_received: 0,
      latest_charge: null,
      status: fields.payment_method === null ? "requires_payment_method" : "requires_confirmation"
    }
    intents.set(id, made)
    return made
  }

  const succeed = (intent: StripePaymentIntent) => {
    intent.status = "succeeded"
    intent.amount_received = intent.amount
    intent.latest_charge = makeStripeId("ch")
    return intent
  }

  /** Charges a card off-session if possible. */
  const confirm = (intent: StripePaymentIntent): StripePaymentIntent => {
    const method = intent.payment_method === null ? undefined : methods.get(intent.payment_method)
    if (method === undefined)
      throw invalidParameter(
        "You cannot confirm this StripePaymentIntent because it's missing a payment method.",
        "payment_method"
      )
    const { declines, isBankDebit = false, wantsAuthentication = false } = method.behavior
    if (isBankDebit) {
      intent.status = "processing"
      return intent
    }
    if (declines === undefined && !wantsAuthentication) return succeed(intent)
    intent.status = "requires_payment_method"
    intent.payment_method = null
    throw declines === undefined
      ? makeCardError("authentication_required", "authentication_required", intent)
      : makeCardError("card_declined", declines, intent)
  }

  const createIntent = (form: StripeForm): StripePaymentIntent => {
    const currency = findText(form, "currency")
    if (currency === null) throw missingParameter("currency")
    const amount = amountAt(form, "amount", "amount")
    const customerId = findText(form, "customer")
    if (customerId !== null) customerAmongParameters(customerId)
    const methodId = findText(form, "payment_method")
    if (methodId !== null) {
      const method = methods.get(methodId)
      if (method === undefined) throw unknownId("StripePaymentMethod", methodId, "payment_method", 400)
      if (method.object.customer !== customerId)
        throw invalidParameter("The provided StripePaymentMethod does not belong to the customer.", "payment_method")
    }
    const confirms = findText(form, "confirm") === "true"
    if (findText(form, "off_session") !== null && !confirms)
      throw invalidParameter("You cannot provide `off_session` when `confirm` is not true.", "off_session")
    const made = newIntent({
      amount,
      currency,
      customer: customerId,
      description: findText(form, "description"),
      metadata: findMetadata(form, "metadata"),
      payment_method: methodId
    })
    return confirms ? confirm(made) : made
  }

  const newInvoice = (
    of: StripeSubscription,
    reason: StripeInvoice["billing_reason"],
    paid: boolean
  ): StripeInvoice => {
    const [item] = of.items.data
    if (item === undefined) throw new Error("A subscription without an item")
    const amount = item.price.unit_amount
    const id = makeStripeId("in")
    const made: StripeInvoice = {
      id,
      object: "invoice",
      created: now(),
      livemode: false,
      billing_reason: reason,
      currency: of.currency,
      customer: of.customer,
      customer_email: customer(of.customer).email,
      metadata: {},
      parent: {
        type: "subscription_details",
        quote_details: null,
        subscription_details: { subscription: of.id, metadata: { ...of.metadata } }
      },
      lines: makeList(`/v1/invoices/${id}/lines`, [
        {
          id: makeStripeId("il"),
          object: "line_item",
          amount,
          currency: of.currency,
          period: { start: item.current_period_start, end: item.current_period_end },
          pricing: {
            type: "price_details",
            price_details: { price: item.price.id, product: item.price.product },
            unit_amount_decimal: String(amount)
          }
        }
      ]),
      amount_due: amount,
      amount_paid: paid ? amount : 0,
      total: amount,
      attempt_count: 1,
      status: paid ? "paid" : "open"
    }
    invoices.set(id, made)
    of.latest_invoice = id
    return made
  }

  const startSubscription = (
    customerId: string,
    price: StripePrice,
    metadata: StripeMetadata,
    method: string
  ): StripeSubscription => {
    refuseSecondCurrency(customerId, price.currency)
    const id = makeStripeId("sub")
    const item: StripeSubscriptionItem = {
      id: makeStripeId("si"),
      object: "subscription_item",
      created: now(),
      subscription: id,
      quantity: 1,
      current_period_start: now(),
      current_period_end: now() + month,
      price
    }
    const made: StripeSubscription = {
      id,
      object: "subscription",
      created: now(),
      livemode: false,
      currency: price.currency,
      customer: customerId,
      items: makeList(`/v1/subscription_items?subscription=${id}`, [item]),
      metadata,
      status: "active",
      default_payment_method: method,
      latest_invoice: null,
      cancel_at_period_end: false,
      schedule: null,
      canceled_at: null,
      ended_at: null
    }
    subscriptions.set(id, made)
    return made
  }

  /** Pays on the hosted page. Returns the events in the order in which they occurred. */
  const complete = (
    id: string,
    how: { readonly card?: CardBehavior; readonly email?: string; readonly paysLater?: boolean } = {}
  ): ReadonlyArray<StripeEvent> => {
    const { intentMetadata, object, price, savesCard, subscriptionMetadata } = session(id)
    if (object.status !== "open" || object.expires_at <= now())
      throw invalidParameter(`This Checkout Session has a status of ${object.status}.`)
    if (how.card?.declines !== undefined) throw makeCardError("card_declined", how.card.declines, null)
    const before = events.length
    const email = how.email ?? object.customer_email
    if (object.customer === null && object.mode === "subscription")
      object.customer = createCustomer(email === null ? {} : { email }).id
    const payer = object.customer === null ? null : customerAmongParameters(object.customer)
    object.customer_details = { email: payer?.email ?? email, name: payer?.name ?? null }
    object.status = "complete"
    object.url = null
    object.payment_status = how.paysLater === true ? "unpaid" : "paid"
    const method = payer !== null && savesCard ? saveCard(payer.id, how.card) : null
    if (object.mode === "subscription" && payer !== null && method !== null) {
      const started = startSubscription(payer.id, price, subscriptionMetadata, method.id)
      object.subscription = started.id
      const invoice = newInvoice(started, "subscription_create", how.paysLater !== true)
      object.invoice = invoice.id
      // A delayed first payment leaves the subscription active until it fails.
      emit("customer.subscription.created", started)
      if (how.paysLater !== true) emit("invoice.payment_succeeded", invoice)
    } else {
      const intent = newIntent({
        amount: object.amount_total,
        currency: object.currency,
        customer: object.customer,
        description: null,
        metadata: intentMetadata,
        payment_method: method?.id ?? null
      })
      object.payment_intent = intent.id
      if (how.paysLater === true) intent.status = "processing"
      else succeed(intent)
    }
    emit("checkout.session.completed", object)
    return events.slice(before)
  }

  /** Decides a processing bank debit. */
  const decideDebit = (intentId: string, outcome: "succeeds" | "fails"): StripePaymentIntent => {
    const intent = intents.get(intentId)
    if (intent?.status !== "processing") throw invalidParameter("This StripePaymentIntent is not processing.")
    if (outcome === "succeeds") return succeed(intent)
    intent.status = "requires_payment_method"
    return intent
  }

  /** Decides a delayed payment of a checkout. Returns its events. */
  const decideCheckout = (id: string, outcome: "succeeds" | "fails"): ReadonlyArray<StripeEvent> => {
    const { object } = session(id)
    if (object.status !== "complete" || object.payment_status !== "unpaid")
      throw invalidParameter("This Checkout Session awaits no payment.")
    const before = events.length
    if (object.payment_intent !== null) decideDebit(object.payment_intent, outcome)
    if (object.subscription !== null) {
      const started = subscription(object.subscription)
      const invoice = newInvoice(started, "subscription_create", outcome === "succeeds")
      emit(outcome === "succeeds" ? "invoice.payment_succeeded" : "invoice.payment_failed", invoice)
      if (outcome === "fails") {
        started.status = "past_due"
        emit("customer.subscription.updated", started)
      }
    }
    if (outcome === "succeeds") object.payment_status = "paid"
    emit(`checkout.session.async_payment_${outcome === "succeeds" ? "succeeded" : "failed"}`, object)
    return events.slice(before)
  }

  const updateSubscription = (id: string, form: StripeForm): StripeSubscription => {
    const found = subscription(id)
    if (ended.has(found.status))
      throw invalidParameter("A canceled subscription can only update its cancellation_details and metadata.")
    const [change] = findList(form, "items")
    if (change !== undefined) {
      const itemId = findText(change, "id")
      const item = found.items.data.find((one) => one.id === itemId)
      if (item === undefined) throw unknownId("subscription item", itemId ?? "", "items[0][id]", 400)
      const price = knownPrice(findText(change, "price") ?? "", "items[0][price]")
      if (price.recurring === null)
        throw invalidParameter(
          "The price specified is set to `type=one_time` but this field only accepts prices with `type=recurring`.",
          "items[0][price]"
        )
      if (price.currency !== found.currency)
        throw invalidParameter(
          `The price specified supports currencies of \`${price.currency}\`. This doesn't match the expected currency: \`${found.currency}\`.`,
          "items[0][price]"
        )
      item.price = price
    }
    found.metadata = { ...found.metadata, ...findMetadata(form, "metadata") }
    const cancels = findText(form, "cancel_at_period_end")
    if (cancels !== null) found.cancel_at_period_end = cancels === "true"
    emit("customer.subscription.updated", found)
    return found
  }

  const schedule = (id: string): StripeSchedule => {
    const found = schedules.get(id)
    if (found === undefined) throw unknownId("subscription_schedule", id, "id")
    return found
  }

  const createSchedule = (form: StripeForm): StripeSchedule => {
    const found = subscription(findText(form, "from_subscription") ?? "")
    if (found.schedule !== null)
      throw invalidParameter("The subscription is attached to a schedule already.", "from_subscription")
    const made: StripeSchedule = {
      id: makeStripeId("sub_sched"),
      object: "subscription_schedule",
      subscription: found.id,
      next: null
    }
    schedules.set(made.id, made)
    found.schedule = made.id
    return made
  }

  const updateSchedule = (id: string, form: StripeForm): StripeSchedule => {
    const found = schedule(id)
    const [current, next, ...more] = findList(form, "phases")
    if (current === undefined || next === undefined || more.length > 0)
      throw invalidParameter("This fake supports one scheduled change.", "phases")
    const running = subscription(found.subscription)
    const [item] = running.items.data
    if (findText(current, "end_date") !== String(item?.current_period_end))
      throw invalidParameter("The current phase ends with the period.", "phases[0][end_date]")
    const [changed] = findList(next, "items")
    const price = knownPrice((changed === undefined ? null : findText(changed, "price")) ?? "", "phases[1][items]")
    if (price.currency !== running.currency) throw invalidParameter("The currencies differ.", "phases[1][items]")
    found.next = { price, metadata: findMetadata(next, "metadata") }
    return found
  }

  const releaseSchedule = (id: string): StripeSchedule => {
    const found = schedule(id)
    subscription(found.subscription).schedule = null
    schedules.delete(id)
    return found
  }

  const cancelSubscription = (id: string): StripeSubscription => {
    const found = subscription(id)
    // An ended subscription is not found.
    if (ended.has(found.status)) throw unknownId("subscription", id, "id")
    found.status = "canceled"
    found.canceled_at = now()
    found.ended_at = now()
    emit("customer.subscription.deleted", found)
    return found
  }

  /** Cancels the customer's subscriptions and deletes the customer; a deleted one is not found. */
  const deleteCustomer = (id: string) => {
    const found = customer(id)
    if (found.deleted === true) throw unknownId("customer", id, "id")
    found.deleted = true
    for (const one of subscriptions.values())
      if (one.customer === id && !ended.has(one.status)) cancelSubscription(one.id)
    return { id, object: "customer", deleted: true }
  }

  /** Advances to the next month, whose invoice is paid or fails. */
  const renew = (id: string, outcome: "paid" | "fails"): ReadonlyArray<StripeEvent> => {
    const found = subscription(id)
    const before = events.length
    const due = found.schedule === null ? null : releaseSchedule(found.schedule).next
    if (due !== null) found.metadata = { ...found.metadata, ...due.metadata }
    for (const item of found.items.data) {
      if (due !== null) item.price = due.price
      item.current_period_start = item.current_period_end
      item.current_period_end = item.current_period_start + month
    }
    found.status = outcome === "paid" ? "active" : "past_due"
    const invoice = newInvoice(found, "subscription_cycle", outcome === "paid")
    emit(outcome === "paid" ? "invoice.payment_succeeded" : "invoice.payment_failed", invoice)
    emit("customer.subscription.updated", found)
    return events.slice(before)
  }

  return {
    customers,
    sessions,
    intents,
    subscriptions,
    invoices,
    prices,
    events,
    customer,
    session,
    subscription,
    createCustomer,
    updateCustomer,
    deleteCustomer,
    saveCard,
    methodsOf,
    addPrice,
    priceFrom,
    createSession,
    expireSession,
    createIntent,
    complete,
    decideDebit,
    decideCheckout,
    updateSubscription,
    createSchedule,
    updateSchedule,
    releaseSchedule,
    cancelSubscription,
    renew
  }
}
export type StripeState = ReturnType<typeof makeStripeState>

const amountAt = (form: StripeForm, name: string, param: string): number => {
  const text = findText(form, name)
  if (text === null) throw missingParameter(param)
  if (!/^-?\d+$/.test(text)) throw invalidParameter(`Invalid integer: ${text}`, param)
  if (Number(text) < 1) throw invalidParameter("This value must be greater than or equal to 1.", param)
  return Number(text)
}
