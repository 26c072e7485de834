import { Layer } from "effect"
import { AgentLifecycle } from "../agents/AgentLifecycle.ts"
import { Deployments } from "./Deployments.ts"
import { GatewayTokenAccess } from "./GatewayTokenAccess.ts"
import { InstanceContents } from "./InstanceContents.ts"
import { InstanceReconciler } from "./InstanceReconciler.ts"
import { InstanceSignIn } from "./InstanceSignIn.ts"
import { Instances } from "./Instances.ts"
import * as LocalAgentManager from "./LocalAgentManager.ts"
import { OrphanCleanup } from "./OrphanCleanup.ts"

export const layer = Layer.provideMerge(
  Layer.mergeAll(GatewayTokenAccess.Default, Deployments.Default, InstanceSignIn.Default),
  Instances.Default
)

/** Agent manager of this process, for the instances of this host. */
export const manager = LocalAgentManager.layer.pipe(
  Layer.provide(Layer.merge(InstanceReconciler.Default, OrphanCleanup.Default)),
  Layer.provide(InstanceContents.Default),
  Layer.provide(AgentLifecycle.Default)
)
