import { Effect, Layer, Option } from "effect"
import { AiLayer } from "../ai/AiLayer.ts"
import { TaskTurns } from "../interaction/turns/TaskTurns.ts"
import { CallQuotes } from "./calls/CallQuotes.ts"
import { CardCalls } from "./calls/CardCalls.ts"
import * as MachineCalls from "./calls/MachineCalls.ts"
import { ChargedEmbeddings } from "./embeddings/ChargedEmbeddings.ts"
import { Gateway } from "./Gateway.ts"
import { GatewaySettings } from "./GatewaySettings.ts"
import { MachinePaymentSettings } from "./payments/MachinePaymentSettings.ts"
import { MachinePayments } from "./payments/MachinePayments.ts"
import { PaymentSettlement } from "./payments/PaymentSettlement.ts"
import * as LocalModelAnswers from "./plugins/LocalModelAnswers.ts"
import * as QuotedOwnerModels from "./plugins/QuotedOwnerModels.ts"
import { Plugins } from "./Plugins.ts"
import * as AgentTaskRunner from "./tasks/AgentTaskRunner.ts"

const machineCalls = Layer.unwrapEffect(
  Effect.map(GatewaySettings, ({ payments }) =>
    Option.match(payments, {
      onNone: () => MachineCalls.withoutPayments,
      onSome: (settings) =>
        MachineCalls.MachineCalls.Default.pipe(
          Layer.provide(MachinePayments.Default),
          Layer.provide(PaymentSettlement.Default),
          Layer.provide(Layer.succeed(MachinePaymentSettings, settings))
        )
    })
  )
)

export const layer = Layer.merge(Gateway.Default, ChargedEmbeddings.Default).pipe(
  Layer.provide(Layer.mergeAll(CardCalls.Default, machineCalls, CallQuotes.Default)),
  Layer.provide(Plugins.Default)
)

/** Agent tasks, by callers' agents or the orchestrator. */
export const agentTaskRunner = Layer.provide(
  AgentTaskRunner.layer,
  Layer.merge(TaskTurns.Default, QuotedOwnerModels.layer)
)

export const localAnswers = Layer.provide(LocalModelAnswers.layer, AiLayer.Default)
