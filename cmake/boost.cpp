// The one place where Boost.Asio, its TLS part and Boost.Beast are compiled.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
