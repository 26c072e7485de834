/** How much of everything a run does; what bounds a measurement in time and in count. */
export interface RunSize {
  readonly startups: number
  /** Owners that provision one after the other, and those before them that are not counted. */
  readonly owners: number
  readonly warmUpOwners: number
  readonly ownersAtOnce: number
  readonly timesAtOnce: number
  readonly connections: ReadonlyArray<number>
  readonly rounds: number
  readonly roundSeconds: number
  readonly warmUpSeconds: number
  /** A round ends after this many requests, if its time is not over before. */
  readonly roundRequests: number
  /** Streamed answers whose first piece is timed, in every round. */
  readonly streams: number
  /** Connections that stream at a model's pace: fewer than for short requests, since ten are a thousand tokens a second already. */
  readonly pacedConnections: ReadonlyArray<number>
  /** Answers at a model's pace that each of them streams in a round. */
  readonly pacedStreams: number
  readonly ownersInCrowd: number
  readonly agentsEach: number
  readonly settleSeconds: number
}

export const fullRun: RunSize = {
  startups: 5,
  owners: 30,
  warmUpOwners: 3,
  ownersAtOnce: 20,
  timesAtOnce: 3,
  connections: [1, 10, 50],
  rounds: 5,
  roundSeconds: 3,
  warmUpSeconds: 3,
  roundRequests: 50_000,
  streams: 100,
  pacedConnections: [1, 10],
  pacedStreams: 3,
  ownersInCrowd: 50,
  agentsEach: 4,
  settleSeconds: 10
}

export const quickRun: RunSize = {
  ...fullRun,
  startups: 2,
  owners: 6,
  warmUpOwners: 1,
  timesAtOnce: 1,
  rounds: 2,
  roundSeconds: 1,
  warmUpSeconds: 0.5,
  streams: 25,
  pacedStreams: 1,
  ownersInCrowd: 5,
  settleSeconds: 3
}
