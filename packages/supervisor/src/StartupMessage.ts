/** What a person who has just started Berth reads: where it is, and three commands to try. */
export const formatStartupMessage = (places: {
  readonly web: string
  readonly backend: string
  readonly dataDirectory: string
}) => `
Berth is ready.

  web          ${places.web}   (pages for people; reference of the API at /docs)
  backend API  ${places.backend}
  data         ${places.dataDirectory}

Try it:

  curl -s ${places.web}/api/register -H 'content-type: application/json' \\
    -d '{"email":"owner@berth.local","password":"correct horse battery"}'
  curl -s -c berth.cookies ${places.web}/api/auth/callback/credentials -H 'content-type: application/json' \\
    -d '{"email":"owner@berth.local","password":"correct horse battery"}'
  curl -s -b berth.cookies ${places.web}/api/agents/provision -H 'content-type: application/json' \\
    -d '{"name":"First mate"}'

Ctrl-C ends it in order; a second Ctrl-C ends it at once.
`
