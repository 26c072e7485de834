import { Effect, Scope } from "effect"
import { useService } from "./HotPath.ts"

/**
 * Hot path: acquires a resource until the scope closes. `Effect.acquireRelease` captures and compares the fiber's
 * state, which costs more than most releases.
 */
export const acquireScoped = <A, E, R>(
  acquire: Effect.Effect<A, E, R>,
  release: (resource: A) => Effect.Effect<unknown>
): Effect.Effect<A, E, R | Scope.Scope> =>
  Effect.uninterruptible(
    useService(Scope.Scope, (scope) => Effect.tap(acquire, (resource) => Scope.addFinalizer(scope, release(resource))))
  )
