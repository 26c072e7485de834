/** The message after a start: the addresses and three commands to try. */
export const formatStartupMessage = (addresses: {
  readonly web: string
  readonly backend: string
  readonly dataDirectory: string
}) => `
Berth is ready.

  web          ${addresses.web}   (pages for people; reference of the API at /docs)
  backend API  ${addresses.backend}
  data         ${addresses.dataDirectory}

Try it:

  curl -s ${addresses.web}/api/register -H 'content-type: application/json' \\
    -d '{"email":"owner@berth.local","password":"correct horse battery"}'
  curl -s -c berth.cookies ${addresses.web}/api/auth/callback/credentials -H 'content-type: application/json' \\
    -d '{"email":"owner@berth.local","password":"correct horse battery"}'
  curl -s -b berth.cookies ${addresses.web}/api/agents/provision -H 'content-type: application/json' \\
    -d '{"name":"First mate"}'

Ctrl-C ends it in order; a second Ctrl-C ends it at once.
`
