/** Message after a start: the page to open, and further addresses. */
export const formatStartupMessage = (addresses: {
  readonly web: string
  readonly backend: string
  readonly dataDirectory: string
}) => `
Berth is ready. Open this page in a browser:

  ${addresses.web}

  API reference  ${addresses.web}/docs
  Backend API    ${addresses.backend}
  Data           ${addresses.dataDirectory}

Press Ctrl-C to stop after running requests and jobs have finished; press it again to stop at once.

`
