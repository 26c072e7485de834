export const pagePaths = {
  front: "/",
  login: "/login",
  signup: "/signup",
  forgotPassword: "/forgot-password",
  dashboard: "/dashboard",
  files: "/dashboard/files",
  onboarding: "/onboarding",
  plans: "/dashboard/plans",
  pricing: "/pricing"
} as const

/** Redirects to the subdomain of the user's instance with a ticket. */
export const instancePath = "/instance"
