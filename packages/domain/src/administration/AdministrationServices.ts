import { Layer } from "effect"
import { AgentLifecycle } from "../agents/AgentLifecycle.ts"
import { Audit } from "./audit/Audit.ts"
import { UserAdministration } from "./UserAdministration.ts"

export const layer = UserAdministration.Default.pipe(
  Layer.provide(AgentLifecycle.Default),
  Layer.provideMerge(Audit.Default)
)
