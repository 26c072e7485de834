import { Metric } from "effect"

const payments = Metric.counter("berth_payments_total", {
  description: "Payments by method (card, mpp, wallet) and outcome (paid, refused)",
  incremental: true
})

type PaymentMethod = "card" | "mpp" | "wallet"
type PaymentOutcome = "paid" | "refused"

const by = (method: PaymentMethod, outcome: PaymentOutcome): Metric.Metric.Counter<number> =>
  payments.pipe(Metric.tagged("method", method), Metric.tagged("outcome", outcome))

const counters: Record<PaymentMethod, Record<PaymentOutcome, Metric.Metric.Counter<number>>> = {
  card: { paid: by("card", "paid"), refused: by("card", "refused") },
  mpp: { paid: by("mpp", "paid"), refused: by("mpp", "refused") },
  wallet: { paid: by("wallet", "paid"), refused: by("wallet", "refused") }
}

export const countPayment = (method: PaymentMethod, outcome: PaymentOutcome): void =>
  counters[method][outcome].unsafeUpdate(1, [])
