import { Layer } from "effect"
import { AgentLifecycle } from "../agents/AgentLifecycle.ts"
import { AccountSuspensions } from "./AccountSuspensions.ts"
import { Audit } from "./audit/Audit.ts"
import { UserAdministration } from "./UserAdministration.ts"

export const layer = Layer.merge(UserAdministration.Default, AccountSuspensions.Default).pipe(
  Layer.provide(AgentLifecycle.Default),
  Layer.provideMerge(Audit.Default)
)
