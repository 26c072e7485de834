/** `running` and `active` differ only in the API. */
const labels: Readonly<Record<string, string>> = {
  provisioning: "Starting",
  running: "Running",
  active: "Running",
  stopped: "Stopped",
  error: "Error"
}

export const formatAgentStatus = (status: string): string => labels[status] ?? status
