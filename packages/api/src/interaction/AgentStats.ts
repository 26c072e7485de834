import { type Agent } from "@berth/domain/agents/Agent"
import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import type { InstanceStats } from "@berth/domain/instances/InstanceStats"
import type { MessageFigures } from "@berth/domain/interaction/Conversation"
import { DateTime, Option, Schema } from "effect"
import { Timestamp } from "../http/Timestamp.ts"
import { formatDuration, notAvailable, formatPair, formatPercent, formatShare } from "../instances/FigureFormat.ts"
import { AgentId } from "@berth/domain/shared/AgentId"

/** Figures of an agent's instance and messages; "N/A" if unknown. */
export const LiveAgentStats = Schema.Struct({
  agentId: AgentId,
  cpu: Schema.String.annotations({ description: "Percent of one core over the last seconds" }),
  memory: Schema.String.annotations({ description: "Used / limit" }),
  memoryPercent: Schema.String,
  network: Schema.String.annotations({ description: "Received / sent" }),
  uptime: Schema.Int.annotations({ description: "Milliseconds; 0 while the instance is down" }),
  uptimeFormatted: Schema.String,
  status: AgentStatus,
  pids: Schema.String.annotations({ description: "Processes and threads" }),
  messagesProcessed: Schema.String.annotations({ description: "Answered and failed messages" }),
  messagesPerHour: Schema.String.annotations({ description: "Messages of the last hour" }),
  averageResponseTime: Schema.String.annotations({ description: "Milliseconds" }),
  successRate: Schema.String,
  errorRate: Schema.String
}).annotations({ identifier: "LiveAgentStats" })

/** Figures of the stored messages, while the backend is unreachable. */
export const MockAgentStats = Schema.Struct({
  agentId: AgentId,
  messagesProcessed: Schema.Int,
  messagesPerHour: Schema.Int,
  averageResponseTime: Schema.Number.annotations({ description: "Milliseconds; 0 without a reply" }),
  uptime: Schema.Int.annotations({ description: "Milliseconds, from the stored record" }),
  successRate: Schema.String,
  errorRate: Schema.String,
  timestamp: Timestamp
}).annotations({ identifier: "MockAgentStats" })

const rates = ({ answered, failed }: MessageFigures) => ({
  successRate: formatShare(answered, answered + failed),
  errorRate: formatShare(failed, answered + failed)
})

export const makeLiveStats = (
  { id, status }: Agent,
  instance: Option.Option<InstanceStats>,
  figures: MessageFigures,
  now: DateTime.Utc
): typeof LiveAgentStats.Type => {
  const { answered, averageAnswerMs, failed, recent } = figures
  const stats = Option.getOrNull(instance)
  const [used, limit] = [stats?.memoryBytes ?? null, stats?.memoryLimitBytes ?? null]
  const uptime = stats === null ? 0 : Math.max(0, DateTime.distance(stats.startedAt, now))
  const processed = answered + failed
  return {
    agentId: id,
    cpu: formatPercent(stats?.cpuPercent ?? null),
    memory: formatPair(used, limit),
    memoryPercent: used === null || limit === null ? notAvailable : formatShare(used, limit),
    network: formatPair(stats?.networkReceivedBytes ?? null, stats?.networkSentBytes ?? null),
    uptime,
    uptimeFormatted: formatDuration(uptime),
    status,
    pids: String(stats?.pids ?? notAvailable),
    messagesProcessed: processed === 0 ? notAvailable : String(processed),
    messagesPerHour: processed === 0 ? notAvailable : String(recent),
    averageResponseTime: averageAnswerMs === null ? notAvailable : String(Math.round(averageAnswerMs)),
    ...rates(figures)
  }
}

/** `startedAt` is null while the instance is down. */
export const makeMockStats = (
  { id }: Agent,
  startedAt: DateTime.Utc | null,
  figures: MessageFigures,
  now: DateTime.Utc
): typeof MockAgentStats.Type => ({
  agentId: id,
  messagesProcessed: figures.answered + figures.failed,
  messagesPerHour: figures.recent,
  averageResponseTime: Math.round(figures.averageAnswerMs ?? 0),
  uptime: startedAt === null ? 0 : Math.max(0, DateTime.distance(startedAt, now)),
  ...rates(figures),
  timestamp: now
})
