import { Metric } from "effect"

const payments = Metric.counter("berth_payments_total", {
  description: "Payments by method (card, mpp, wallet) and outcome (paid, refused)",
  incremental: true
})

const by = (method: "card" | "mpp" | "wallet", outcome: "paid" | "refused") =>
  payments.pipe(Metric.tagged("method", method), Metric.tagged("outcome", outcome))

const counters = {
  card: { paid: by("card", "paid"), refused: by("card", "refused") },
  mpp: { paid: by("mpp", "paid"), refused: by("mpp", "refused") },
  wallet: { paid: by("wallet", "paid"), refused: by("wallet", "refused") }
}

export const countPayment = (method: keyof typeof counters, outcome: "paid" | "refused"): void =>
  counters[method][outcome].unsafeUpdate(1, [])
