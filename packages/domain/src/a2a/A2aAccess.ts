import type { UserId } from "../shared/UserId.ts"

export interface A2aReceiver {
  readonly ownerId: UserId
  /** Users and agents of other owners. */
  readonly allow: ReadonlyArray<string>
}

export interface A2aSender {
  readonly ownerId: UserId
  readonly agentIds: ReadonlyArray<string>
}

/**
 * Returns whether a sender may message an agent: its owner always; others if the agent's allow list names the user or
 * the agent.
 */
export const isSenderAllowed = (receiver: A2aReceiver, sender: A2aSender): boolean =>
  receiver.ownerId === sender.ownerId ||
  receiver.allow.includes(sender.ownerId) ||
  sender.agentIds.some((id) => receiver.allow.includes(id))
