"""The configuration of an nginx that stays in one folder."""

#: The directives around ``{http}``, those of a test. ``{user}``: as which user it runs, or nothing.
CONFIGURATION = """\
{user}
daemon off;
pid {folder}/nginx.pid;
error_log stderr;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {http}
}}
"""
