import { AccountRemoval } from "@berth/domain/recovery/deletion/AccountRemoval"
import { Effect, Layer } from "effect"

/** For handlers of other jobs, which remove no account. */
export const unusedAccountRemoval = Layer.succeed(
  AccountRemoval,
  AccountRemoval.make({ remove: () => Effect.dieMessage("no account is to be removed here") })
)
