/** `running` and `active` differ only in the API. */
const labels: Readonly<Record<string, string>> = {
  provisioning: "Starting",
  running: "Running",
  active: "Running",
  stopped: "Stopped",
  error: "Error"
}

/** The label of an agent's status. */
export const formatAgentStatus = (status: string): string => labels[status] ?? status

/** The notice in the chat of an agent that does not run; empty for one that runs. */
export const describeAbsence = (name: string, status: string): string =>
  formatAgentStatus(status) === "Running"
    ? ""
    : `${name} has the status ${formatAgentStatus(status)} and replies once it is running.`
