"""URLs in many spellings."""

HOSTS = ["example.org", "www.example.org", "WWW.Example.org:80", "data.example.co.uk", "b\u00fccher.example", "en.3.5.example.com."]
SEGMENTS = ["a", "data", "releases", "%7Euser", "caf\u00e9", "A%20b", "..", ".", "", "catalogue.fits", "Index.HTML"]
ARGUMENTS = ["page=1", "b=2", "a", "utm_source=x", "PHPSESSID=0123456789abcdef0123456789abcdef", "q=%C3%A9t%c3%a9", "lang=en"]


def urls(number, rng):
    """This number of URLs, each with a line end."""
    for _ in range(number):
        path = "/".join(rng.choices(SEGMENTS, k=rng.randrange(6)))
        query = "&".join(rng.choices(ARGUMENTS, k=rng.randrange(4)))
        yield f"http://{rng.choice(HOSTS)}/{path}{'?' if query else ''}{query}\n"
