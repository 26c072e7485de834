import { Context, type Redacted } from "effect"
import type { PaymentTerms } from "./Challenge.ts"

/** Terms of challenges, and the secret that signs them. */
export class MachinePaymentSettings extends Context.Tag("@berth/MachinePaymentSettings")<
  MachinePaymentSettings,
  PaymentTerms & { readonly secret: Redacted.Redacted }
>() {}
