/** Headers that a browser sends with a request for a page. */
const sent = (userAgent: string, more: Readonly<Record<string, string>>) => ({
  "user-agent": userAgent,
  accept: "*/*",
  "accept-language": "en-GB,en;q=0.9",
  "accept-encoding": "gzip, deflate, br",
  ...more
})

const metadata = { "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" }

export const browserHeaders = {
  "Chrome on Windows": sent(
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
    { ...metadata, "sec-ch-ua": '"Google Chrome";v="131", "Chromium";v="131", "Not_A Brand";v="24"' }
  ),
  "Edge on Windows": sent(
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0",
    metadata
  ),
  "Firefox on Linux": sent("Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0", {
    ...metadata,
    "accept-language": "de,en-US;q=0.7,en;q=0.3"
  }),
  "Safari on a Mac": sent(
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15",
    metadata
  ),
  "Safari on an iPhone": sent(
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
    { ...metadata, "accept-language": "zh-CN" }
  ),
  "Chrome on Android": sent(
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36",
    metadata
  )
} satisfies Record<string, Readonly<Record<string, string>>>

/** Without fetch metadata, only the origin names the page. */
export const browserHeadersWithoutMetadata = {
  "Safari 15": sent(
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/15.6 Safari/605.1.15",
    {}
  ),
  "Chrome on plain http": sent(
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
    {}
  )
} satisfies Record<string, Readonly<Record<string, string>>>

const chrome = browserHeaders["Chrome on Windows"]
const without = (name: string) => Object.fromEntries(Object.entries(chrome).filter(([header]) => header !== name))

/** Request headers of programs, some of which imitate browsers. */
export const programHeaders: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  nobody: {},
  curl: { "user-agent": "curl/8.5.0", accept: "*/*" },
  "curl with a browser's user agent": { "user-agent": chrome["user-agent"], accept: "*/*" },
  "Python's requests": {
    "user-agent": "python-requests/2.32.3",
    "accept-encoding": "gzip, deflate",
    accept: "*/*",
    connection: "keep-alive"
  },
  "Node's fetch": {
    "user-agent": "node",
    accept: "*/*",
    "accept-language": "*",
    "sec-fetch-mode": "cors",
    "accept-encoding": "gzip, deflate"
  },
  axios: { "user-agent": "axios/1.7.9", accept: "application/json, text/plain, */*" },
  Go: { "user-agent": "Go-http-client/1.1", "accept-encoding": "gzip" },
  Scrapy: { ...chrome, "user-agent": "Scrapy/2.12.0 (+https://scrapy.org)" },
  Googlebot: {
    ...chrome,
    "user-agent": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
  },
  "headless Chrome": {
    ...chrome,
    "user-agent":
      "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/131.0.0.0 Safari/537.36"
  },
  "headless Chrome with another user agent": {
    ...chrome,
    "sec-ch-ua": '"HeadlessChrome";v="131", "Chromium";v="131", "Not_A Brand";v="24"'
  },
  "a browser without a user agent": without("user-agent"),
  "a browser that takes nothing": without("accept"),
  "a browser of no language": without("accept-language"),
  "a browser of no page": without("sec-fetch-site"),
  "a browser on another site's page": { ...chrome, "sec-fetch-site": "cross-site" }
}
